// SPDX-License-Identifier: MIT
// How wgmma is told where in shared memory a matrix of 16-bit elements lies: 64 bits, the same for every
// target.
//
// A matrix is cut into slabs as wide as the swizzle (128 or 64 bytes), whose rows lie one behind the other;
// bits 4 and up of an address are XORed with the row, as TMA does it too, so a slab begins at a multiple of 8
// rows' bytes.
//   along K (rows are rows of A, or columns of B): `leading` is not read; the next 16 of K are 32 bytes on,
//   or in the next slab across K (rows are steps of K): `leading` is from slab to slab; the next 16 of K are
//   16 rows on
// `stride` is from 8 rows to the next 8.
#pragma once

#include <cstdint>

#include "primitives/target.h"

namespace flashmoe::gpu {

enum class Swizzle : uint32_t {
  none = 0,
  bytes_128 = 1,
  bytes_64 = 2,
  bytes_32 = 3
};  // as wgmma numbers them

// The low word: what changes from operand to operand. Adding n / 16 to it moves the start by n bytes.
FLASHMOE_HD constexpr uint32_t descriptor_low(uint32_t address, uint32_t leading_bytes) {
  return (address & 0x3FFFF) >> 4 | leading_bytes >> 4 << 16;
}

// The high word: a constant of the layout.
FLASHMOE_HD constexpr uint32_t descriptor_high(uint32_t stride_bytes, Swizzle swizzle) {
  return stride_bytes >> 4 | static_cast<uint32_t>(swizzle) << 30;
}

FLASHMOE_HD constexpr uint64_t descriptor(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }

}  // namespace flashmoe::gpu
