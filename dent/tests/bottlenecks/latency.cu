// SPDX-License-Identifier: MIT
// Loads that wait for each other. With few warps (because each takes many registers, or each block much
// shared memory) more warps would hide the wait; with as many as an SM takes, nothing is left but to wait
// less.
#include "bottlenecks/planted.h"

namespace bottlenecks {
namespace {

constexpr unsigned kWords = 1U << 24;  // 64 MiB: more than the L2 cache holds

// Where to load from next; depends on what was loaded. All lanes of a warp go to the same line.
__device__ __forceinline__ unsigned next(unsigned line, float loaded) {
  const unsigned salt = __shfl_sync(0xFFFFFFFFU, __float_as_uint(loaded), 0);
  return (line * 1664525U + 1013904223U + (salt & 31U)) % (kWords / 32);
}

__device__ __forceinline__ unsigned first_line() {
  return (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 977U % (kWords / 32);
}

}  // namespace

__global__ void __launch_bounds__(128) planted_registers_limit(const float* in, float* out) {
  constexpr int kLive = 200;
  float live[kLive];
#pragma unroll
  for (int k = 0; k < kLive; ++k) live[k] = in[threadIdx.x + 128U * static_cast<unsigned>(k)];
  unsigned line = first_line();
  for (int round = 0; round < 4; ++round) {
#pragma unroll
    for (int k = 0; k < kLive; k += 8) {
      const float loaded = in[line * 32 + threadIdx.x % 32];
      line = next(line, loaded);
#pragma unroll
      for (int j = k; j < k + 8; ++j) live[j] = fmaf(live[j], loaded, live[(j + 8) % kLive]);
    }
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kLive; ++k) sum += live[k];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void planted_shared_memory_limits(const float* in, float* out) {
  extern __shared__ float room[];
  unsigned line = first_line();
  for (unsigned round = 0; round < 100; ++round) {
    const float loaded = in[line * 32 + threadIdx.x % 32];
    line = next(line, loaded);
    room[threadIdx.x + blockDim.x * (round % 256)] = loaded;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = room[threadIdx.x];
}

__global__ void planted_pointer_chase(const float* in, float* out) {
  unsigned line = first_line();
  float sum = 0;
  for (unsigned round = 0; round < 100; ++round) {
    const float loaded = in[line * 32];  // one sector for the whole warp
    line = next(line, loaded);
    sum += loaded;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

void registers_limit(const Arena& arena) {
  planted_registers_limit<<<waves_of(arena, 2, 8), 128>>>(arena.in, arena.out);
}
void shared_memory_limits(const Arena& arena) {
  // As much as one block may have, so that no second one fits.
  int most = 0;
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  const int bytes = most / 1024 * 1024 - 1024;
  cudaFuncSetAttribute(planted_shared_memory_limits, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  planted_shared_memory_limits<<<waves_of(arena, 1, 8), 64, static_cast<unsigned>(bytes)>>>(arena.in,
                                                                                            arena.out);
}
void pointer_chase(const Arena& arena) {
  planted_pointer_chase<<<waves_of(arena, 8, 4), 256>>>(arena.in, arena.out);
}

}  // namespace bottlenecks
