// SPDX-License-Identifier: MIT
// Thirty-two warps that meet after every few instructions, and one of them is always late.
#include "bottlenecks/planted.h"

namespace bottlenecks {

__global__ void __launch_bounds__(1024) planted_barrier_heavy(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i];
  for (unsigned round = 0; round < 256; ++round) {
    if (threadIdx.x / 32 == round % 32) {
      for (int k = 0; k < 64; ++k) x = fmaf(x, 0.999F, 0.001F);
    }
    __syncthreads();
  }
  out[i] = x;
}

void barrier_heavy(const Arena& arena) {
  planted_barrier_heavy<<<waves_of(arena, 2, 2), 1024>>>(arena.in, arena.out);
}

}  // namespace bottlenecks
