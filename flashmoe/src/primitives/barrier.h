// SPDX-License-Identifier: MIT
// Waiting for one another. The block and the warp: every thread takes part. Named barriers 1 to 15 of a
// block: as many of its warps as the kernel wants; number 0 is sync_block's.
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
