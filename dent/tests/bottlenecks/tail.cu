// SPDX-License-Identifier: MIT
// Two ways to leave SMs idle at the end: a last wave of four blocks, and one block in a hundred with forty
// times the work.
#include "bottlenecks/arithmetic.cuh"
#include "bottlenecks/planted.h"

namespace bottlenecks {

__global__ void __launch_bounds__(1024) planted_wave_tail(const float* in, float* out) {
  extern __shared__ float room[];  // so much that one block fills an SM
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  room[threadIdx.x] = in[i];
  out[i] = multiply_and_add(room[threadIdx.x], 600);
}

__global__ void planted_uneven_work(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = multiply_and_add(in[i], blockIdx.x % 256 == 255 ? 8000 : 200);
}

void wave_tail(const Arena& arena) {
  int most = 0;
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  cudaFuncSetAttribute(planted_wave_tail, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  planted_wave_tail<<<waves_of(arena, 1, 1) + 4, 1024, static_cast<unsigned>(most)>>>(arena.in, arena.out);
}

void uneven_work(const Arena& arena) {
  planted_uneven_work<<<waves_of(arena, 8, 1), 256>>>(arena.in, arena.out);
}

}  // namespace bottlenecks
