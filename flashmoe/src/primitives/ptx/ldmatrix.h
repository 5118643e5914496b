// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// ldmatrix.x4 (sm_75): loads four 8x8 matrices of 16-bit elements. Lane l passes the shared address of row l
// % 8 of matrix l / 8, a multiple of 16; it gets in fragment[i] columns 2 (l % 4) and the next of row l / 4
// of matrix i. Caller: all lanes of a warp, converged.
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&fragment)[4], uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(row)
               : "memory");
}

// ldmatrix.x4.trans transposes each matrix: fragment[i] gets rows 2 (l % 4) and the next of column l / 4.
__device__ __forceinline__ void ldmatrix_x4_trans(uint32_t (&fragment)[4], uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(row)
               : "memory");
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
