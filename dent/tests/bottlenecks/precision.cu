// SPDX-License-Identifier: MIT
// Double precision: by accident, for a literal without an F, where every round converts to and fro; and in
// earnest.
#include "bottlenecks/planted.h"

namespace bottlenecks {

__global__ void planted_double_literals(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i];
  for (int round = 0; round < 128; ++round) x = static_cast<float>(x * 0.99 + 0.01);
  out[i] = x;
}

__global__ void planted_double_sums(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  double chain[4] = {in[i], in[i] + 0.25, in[i] + 0.5, in[i] + 0.75};
  for (int round = 0; round < 128; ++round) {
#pragma unroll
    for (double& x : chain) x = fma(x, 0.999, 0.001);
  }
  out[i] = static_cast<float>(chain[0] + chain[1] + chain[2] + chain[3]);
}

void double_literals(const Arena& arena) {
  planted_double_literals<<<waves_of(arena, 8, 4), 256>>>(arena.in, arena.out);
}
void double_sums(const Arena& arena) {
  planted_double_sums<<<waves_of(arena, 8, 4), 256>>>(arena.in, arena.out);
}

}  // namespace bottlenecks
