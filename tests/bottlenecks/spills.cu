// SPDX-License-Identifier: MIT
// 96 numbers that live at once, in 32 registers: the rest goes to memory and back. (Launch bounds of 1024
// threads, two blocks an SM, say the same on sm_80 and sm_90; sm_89 has no room for 2048 threads, and ptxas
// refuses them.)
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

void spills(const Arena& arena) { planted_spills<<<waves_of(arena, 2, 2), 1024>>>(arena.in, arena.out); }

}  // namespace bottlenecks
