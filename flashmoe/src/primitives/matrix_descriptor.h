// SPDX-License-Identifier: MIT
// The 64-bit descriptor that tells wgmma where in shared memory a matrix of 16-bit elements lies. All targets
// use the same encoding.
//
// A matrix is stored as slabs as wide as the swizzle (128 or 64 bytes), row after row. Address bits 4 and up
// are XORed with the row number, exactly as TMA writes them, so a slab must begin at a multiple of 8 rows'
// bytes.
//   along K (rows are rows of A, or columns of B): `leading` is ignored; 16 steps of K further is 32 bytes
//   further, or in the next slab. Across K (rows are steps of K): `leading` is the distance between slabs;
//   16 steps of K further is 16 rows further.
// `stride` is the distance from one group of 8 rows to the next.
#pragma once

#include <cstdint>

#include "primitives/target.h"

namespace flashmoe::gpu {

enum class Swizzle : uint32_t {
  none = 0,
  bytes_128 = 1,
  bytes_64 = 2,
  bytes_32 = 3
};  // values as wgmma encodes them

// Low word, which differs between operands. Adding n / 16 to it moves the start address by n bytes.
FLASHMOE_HD constexpr uint32_t descriptor_low(uint32_t address, uint32_t leading_bytes) {
  return (address & 0x3FFFF) >> 4 | leading_bytes >> 4 << 16;
}

// High word, which depends on the layout only.
FLASHMOE_HD constexpr uint32_t descriptor_high(uint32_t stride_bytes, Swizzle swizzle) {
  return stride_bytes >> 4 | static_cast<uint32_t>(swizzle) << 30;
}

FLASHMOE_HD constexpr uint64_t descriptor(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }

}  // namespace flashmoe::gpu
