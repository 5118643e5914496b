// SPDX-License-Identifier: MIT
// Who am I: the thread in its block, the block in its grid.
#pragma once

#include "primitives/platform.h"

#ifdef FLASHMOE_MODEL
#include "primitives/model/index.h"
#else
namespace flashmoe::gpu::inline FLASHMOE_TARGET {

__device__ __forceinline__ int thread_index() { return static_cast<int>(threadIdx.x); }
__device__ __forceinline__ int lane_index() { return static_cast<int>(threadIdx.x % 32); }
// The same in all lanes, and known to the compiler to be: roles and addresses stay in uniform registers.
__device__ __forceinline__ int warp_index() {
  return __shfl_sync(0xFFFFFFFFU, static_cast<int>(threadIdx.x / 32), 0);
}
__device__ __forceinline__ unsigned block_index() { return blockIdx.x; }
__device__ __forceinline__ unsigned block_index_y() { return blockIdx.y; }
__device__ __forceinline__ unsigned block_index_z() { return blockIdx.z; }

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#endif
