// SPDX-License-Identifier: MIT
// Barriers among threads: the block's and the warp's, at which every thread takes part, and named barriers 1
// to 15, each for a set of warps that the kernel chooses. Number 0 is sync_block's.
#pragma once

#include "primitives/platform.h"

#ifdef FLASHMOE_MODEL
#include "primitives/model/barrier.h"
#include "primitives/model/named_barrier.h"
#else
#include "primitives/ptx/named_barrier.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

__device__ __forceinline__ void sync_block() { __syncthreads(); }
__device__ __forceinline__ void sync_warp() { __syncwarp(); }

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#endif
