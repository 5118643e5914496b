// SPDX-License-Identifier: MIT
// The 32 bits of a register: as one type or the other, halves of two put together, and hidden from the
// optimiser.
#pragma once

#include <bit>
#include <cstdint>

#include "primitives/platform.h"

#ifndef FLASHMOE_MODEL
#include "primitives/ptx/opaque.h"
#endif

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

__device__ __forceinline__ float as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
__device__ __forceinline__ uint32_t as_bits(float value) { return std::bit_cast<uint32_t>(value); }

// Two 16-bit halves from two registers: the step from two rows of a matrix to one operand of a matrix
// instruction. The low halves of `first` and `second`, `first` in the low half of the result.
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

// opaque(x): a value whose origin the compiler may not look through. What is computed from it stays behind
// this point, instead of being worked out long before and kept in registers.
#ifdef FLASHMOE_MODEL
template <class T>
T opaque(T value) {
  return value;
}
#endif

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
