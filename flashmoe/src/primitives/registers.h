// SPDX-License-Identifier: MIT
// Operations on 32-bit registers: reinterpret them, combine halves of two, and hide a value from the
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

// Combines the low halves of `first` (into the low half of the result) and `second`: turns elements of two
// matrix rows into one operand of a matrix instruction.
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

// opaque(x) hides from the compiler where a value comes from, so that what is computed from it is computed
// after this point and not long before, which would occupy registers.
#ifdef FLASHMOE_MODEL
template <class T>
T opaque(T value) {
  return value;
}
#endif

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
