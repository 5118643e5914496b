// SPDX-License-Identifier: MIT
#include "gpu/occupancy_kernels.h"

namespace flashmoe::test {
namespace {

// Keeps kLive values alive from the loads to the stores, so that it takes about so many registers and spills
// none; and kWords words of static shared memory.
template <int kLive, int kWords>
__global__ void take(float* data, int rounds) {
  __shared__ float words[kWords > 0 ? kWords : 1];
  float live[kLive];
#pragma unroll
  for (int i = 0; i < kLive; ++i) live[i] = data[i * 1024 + threadIdx.x];
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < kLive; ++i) live[i] = live[i] * live[(i + 1) % kLive] + 1.0F;
    if (kWords > 0) {
      words[(threadIdx.x + static_cast<unsigned>(round)) % (kWords > 0 ? kWords : 1)] = live[0];
      __syncthreads();
      live[0] += words[threadIdx.x % (kWords > 0 ? kWords : 1)];
    }
  }
#pragma unroll
  for (int i = 0; i < kLive; ++i) data[i * 1024 + threadIdx.x] = live[i];
}

template <int kLive, int kWords>
const void* kernel() {
  return reinterpret_cast<const void*>(&take<kLive, kWords>);
}

}  // namespace

std::vector<const void*> occupancy_kernels() {
  return {kernel<2, 0>(),     kernel<12, 0>(),    kernel<20, 0>(),    kernel<28, 0>(),     kernel<36, 0>(),
          kernel<44, 0>(),    kernel<52, 0>(),    kernel<60, 0>(),    kernel<72, 0>(),     kernel<84, 0>(),
          kernel<100, 0>(),   kernel<116, 0>(),   kernel<132, 0>(),   kernel<150, 0>(),    kernel<170, 0>(),
          kernel<190, 0>(),   kernel<210, 0>(),   kernel<228, 0>(),   kernel<2, 1>(),      kernel<12, 500>(),
          kernel<28, 2048>(), kernel<44, 6000>(), kernel<84, 9000>(), kernel<150, 12288>()};
}

}  // namespace flashmoe::test
