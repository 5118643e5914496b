// SPDX-License-Identifier: MIT
// Waiting for one another: the block, and the warp. Every thread must come.
#pragma once

#include "primitives/platform.h"

#ifdef FLASHMOE_MODEL
#include "primitives/model/barrier.h"
#else
namespace flashmoe::gpu::inline FLASHMOE_TARGET {

__device__ __forceinline__ void sync_block() { __syncthreads(); }
__device__ __forceinline__ void sync_warp() { __syncwarp(); }

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#endif
