// SPDX-License-Identifier: MIT
// Work that only multiplies and adds: `rounds` times four independent chains of eight.
#pragma once

#include <cuda_runtime.h>

namespace bottlenecks {

__device__ __forceinline__ float multiply_and_add(float seed, int rounds) {
  float chain[4] = {seed, seed + 0.25F, seed + 0.5F, seed + 0.75F};
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < 32; ++i) chain[i % 4] = fmaf(chain[i % 4], 0.999F, 0.001F);
  }
  return chain[0] + chain[1] + chain[2] + chain[3];
}

}  // namespace bottlenecks
