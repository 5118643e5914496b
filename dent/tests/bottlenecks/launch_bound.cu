// SPDX-License-Identifier: MIT
// Every SM has work, but so little that starting the kernel takes longer than running it.
#include "bottlenecks/planted.h"

namespace bottlenecks {

__global__ void planted_launch_bound(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] + 1;
}

void launch_bound(const Arena& arena) {
  planted_launch_bound<<<waves_of(arena, 8, 1), 256>>>(arena.in, arena.out);
}

}  // namespace bottlenecks
