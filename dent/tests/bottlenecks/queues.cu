// SPDX-License-Identifier: MIT
// Warps that wait in line: for constants that each lane wants from another place, for shuffles, for fences;
// and warps that sleep.
#include "bottlenecks/planted.h"

namespace bottlenecks {
namespace {

__constant__ float table[8192];

}  // namespace

// Constant memory answers one address at a time.
__global__ void planted_constant_table(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned at = __float_as_uint(in[i]);
  float sum = 0;
  for (int round = 0; round < 64; ++round) {
    at = at * 1664525U + 1013904223U;
    sum += table[at >> 19];
  }
  out[i] = sum;
}

__global__ void planted_shuffles(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float chain[4] = {in[i], in[i] + 0.25F, in[i] + 0.5F, in[i] + 0.75F};
  for (int round = 0; round < 64; ++round) {
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) {
#pragma unroll
      for (float& x : chain) x += __shfl_xor_sync(0xFFFFFFFFU, x, lanes);
    }
  }
  out[i] = chain[0] + chain[1] + chain[2] + chain[3];
}

__global__ void planted_fences(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned round = 0; round < 32; ++round) {
    out[i] = in[i] + static_cast<float>(round);
    __threadfence();
  }
}

// Nothing is busy, and yet nobody gets on.
__global__ void planted_sleepers(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < 64; ++round) __nanosleep(1000);
  out[i] = in[i];
}

void constant_table(const Arena& arena) {
  planted_constant_table<<<waves_of(arena, 8, 2), 256>>>(arena.in, arena.out);
}
void shuffles(const Arena& arena) { planted_shuffles<<<waves_of(arena, 8, 4), 256>>>(arena.in, arena.out); }
void fences(const Arena& arena) { planted_fences<<<waves_of(arena, 8, 4), 256>>>(arena.in, arena.out); }
void sleepers(const Arena& arena) { planted_sleepers<<<waves_of(arena, 8, 2), 256>>>(arena.in, arena.out); }

}  // namespace bottlenecks
