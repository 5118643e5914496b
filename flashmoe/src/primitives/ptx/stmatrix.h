// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// stmatrix.x4 (sm_90): stores four 8x8 matrices of 16-bit elements. Lane l passes the shared address of row l
// % 8 of matrix l / 8, a multiple of 16; its fragment[i] holds columns 2 (l % 4) and the next of row l / 4 of
// matrix i. Caller: all lanes of a warp, converged.
__device__ __forceinline__ void stmatrix_x4(uint32_t row, const uint32_t (&fragment)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(row), "r"(fragment[0]),
               "r"(fragment[1]), "r"(fragment[2]), "r"(fragment[3])
               : "memory");
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
