// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// movmatrix.trans (sm_75): transposes an 8x8 matrix. Lane l passes columns 2 (l % 4) and the next of row l /
// 4, and gets rows 2 (l % 4) and the next of column l / 4. Caller: all lanes of a warp, converged.
__device__ __forceinline__ uint32_t movmatrix_trans(uint32_t pair) {
  uint32_t transposed;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(pair));
  return transposed;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
