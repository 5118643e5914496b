// SPDX-License-Identifier: MIT
// Two 16-bit halves from two registers: the step from two rows of a matrix to one operand of a matrix
// instruction.
#pragma once

#include <cstdint>

#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// The low halves of `first` and `second`, `first` in the low half of the result.
__device__ __forceinline__ uint32_t low_halves(uint32_t first, uint32_t second) {
#ifdef FLASHMOE_MODEL
  return (first & 0xFFFFU) | (second << 16);
#else
  return __byte_perm(first, second, 0x5410);
#endif
}

__device__ __forceinline__ uint32_t high_halves(uint32_t first, uint32_t second) {
#ifdef FLASHMOE_MODEL
  return (first >> 16) | (second & 0xFFFF0000U);
#else
  return __byte_perm(first, second, 0x7632);
#endif
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
