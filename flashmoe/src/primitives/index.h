// SPDX-License-Identifier: MIT
// Indices of the running thread: its lane, its warp, its block in the grid.
#pragma once

#include "primitives/platform.h"

#ifdef FLASHMOE_MODEL
#include "primitives/model/index.h"
#else
namespace flashmoe::gpu::inline FLASHMOE_TARGET {

__device__ __forceinline__ int thread_index() { return static_cast<int>(threadIdx.x); }
__device__ __forceinline__ int lane_index() { return static_cast<int>(threadIdx.x % 32); }
// Shuffled from lane 0, so that the compiler keeps roles and addresses in uniform registers.
__device__ __forceinline__ int warp_index() {
  return __shfl_sync(0xFFFFFFFFU, static_cast<int>(threadIdx.x / 32), 0);
}
__device__ __forceinline__ unsigned block_index() { return blockIdx.x; }
__device__ __forceinline__ unsigned block_index_y() { return blockIdx.y; }
__device__ __forceinline__ unsigned block_index_z() { return blockIdx.z; }

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#endif
