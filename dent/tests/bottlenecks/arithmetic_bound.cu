// SPDX-License-Identifier: MIT
// Nothing but arithmetic: exponentials, which have a sixteenth of the rate of multiply-adds, and
// multiply-adds.
#include "bottlenecks/arithmetic.cuh"
#include "bottlenecks/planted.h"
#include "primitives/arithmetic.h"

namespace bottlenecks {

__global__ void planted_exp_bound(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float chain[4] = {in[i], in[i] * 0.5F, in[i] * 0.25F, in[i] * 0.125F};
  for (int round = 0; round < 256; ++round) {
#pragma unroll
    for (float& x : chain) x = flashmoe::gpu::ex2(x - 1);
  }
  out[i] = chain[0] + chain[1] + chain[2] + chain[3];
}

__global__ void planted_fma_bound(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = multiply_and_add(in[i], 500);
}

void exp_bound(const Arena& arena) { planted_exp_bound<<<waves_of(arena, 8, 4), 256>>>(arena.in, arena.out); }
void fma_bound(const Arena& arena) { planted_fma_bound<<<waves_of(arena, 8, 4), 256>>>(arena.in, arena.out); }

}  // namespace bottlenecks
