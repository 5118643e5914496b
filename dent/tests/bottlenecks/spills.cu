// SPDX-License-Identifier: MIT
// What does not stay in registers: 96 numbers that live at once, in 32 registers, and an array that is
// indexed by data. (Launch bounds of 1024 threads, two blocks an SM, say the same on sm_80 and sm_90; sm_89
// has no room for 2048 threads, and ptxas refuses them.)
#include "bottlenecks/planted.h"

namespace bottlenecks {

__global__ void __maxnreg__(32) planted_spills(const float* in, float* out) {
  constexpr int kLive = 96;
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float live[kLive];
#pragma unroll
  for (int k = 0; k < kLive; ++k) live[k] = in[i + 1024U * static_cast<unsigned>(k)];
  for (int round = 0; round < 40; ++round) {
#pragma unroll
    for (int k = 0; k < kLive; ++k) live[k] = fmaf(live[k], 0.5F, live[(k + 41) % kLive]);
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kLive; ++k) sum += live[k];
  out[i] = sum;
}

// An array that is indexed by data can't be in registers.
__global__ void planted_local_array(const unsigned* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float bins[32] = {};
  unsigned word = in[i];
  for (int round = 0; round < 256; ++round) {
    bins[word >> 27] += 1;
    word = word * 1664525U + 1013904223U;
  }
  float most = 0;
  for (float bin : bins) most = fmaxf(most, bin);
  out[i] = most;
}

void spills(const Arena& arena) { planted_spills<<<waves_of(arena, 2, 2), 1024>>>(arena.in, arena.out); }

void local_array(const Arena& arena) {
  planted_local_array<<<waves_of(arena, 8, 2), 256>>>(reinterpret_cast<const unsigned*>(arena.in), arena.out);
}

}  // namespace bottlenecks
