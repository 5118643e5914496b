// SPDX-License-Identifier: MIT
// Every SM has a block, but so few warps that nothing hides a latency: that of arithmetic, and that of
// memory.
#include "bottlenecks/planted.h"

namespace bottlenecks {

__global__ void planted_long_chain(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i];
  for (int round = 0; round < 20000; ++round) x = fmaf(x, 0.999F, 0.001F);
  out[i] = x;
}

// A copy by few blocks that go around: less than a wave, and each warp waits for its own load.
__global__ void planted_few_warps_copy(const float* in, float* out) {
  const unsigned stride = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < (1U << 24); i += stride) out[i] = in[i] + 1;
}

void long_chain(const Arena& arena) {
  planted_long_chain<<<waves_of(arena, 1, 1), 128>>>(arena.in, arena.out);
}
void few_warps_copy(const Arena& arena) {
  planted_few_warps_copy<<<waves_of(arena, 1, 1), 128>>>(arena.in, arena.out);
}

}  // namespace bottlenecks
