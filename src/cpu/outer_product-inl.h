// SPDX-License-Identifier: MIT
// The micro-kernel of both products: a tile of R rows by two vectors, C += sum over i of a[i] (outer) b[i].
// Included once per SIMD target.
#if defined(FLASHMOE_CPU_OUTER_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHMOE_CPU_OUTER_PRODUCT_INL_H_
#undef FLASHMOE_CPU_OUTER_PRODUCT_INL_H_
#else
#define FLASHMOE_CPU_OUTER_PRODUCT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "cpu/target-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Rows of a tile: 16 accumulators hide the latency of the multiply-add; of 16 registers, 12 can be
// accumulators.
inline constexpr int kTileRows = FLASHMOE_HAVE_32_REGISTERS ? 8 : 6;

// Vectors of scalable length fit in no array, so each accumulator is a variable: row r has c##r##0 and
// c##r##1.
#define FLASHMOE_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define FLASHMOE_TILE_DECLARE(r) [[maybe_unused]] Vector c##r##0, c##r##1;
#define FLASHMOE_TILE_PARAMETER(r) , Vector &c##r##0, Vector &c##r##1
#define FLASHMOE_TILE_ARGUMENT(r) , c##r##0, c##r##1

#undef FLASHMOE_TILE_LOAD_A
#undef FLASHMOE_TILE_A
#if FLASHMOE_NEON
// Multiplying by one lane is free here and a load that broadcasts is not; elsewhere it is the other way
// round.
#define FLASHMOE_TILE_LOAD_A        \
  const auto low = hn::LoadU(d, a); \
  const auto high = hn::LoadU(d, a + (R > 4 ? 4 : 0));
#define FLASHMOE_TILE_A(r) hn::Broadcast<r % 4>(r < 4 ? low : high)
#else
#define FLASHMOE_TILE_LOAD_A
#define FLASHMOE_TILE_A(r) hn::Set(d, a[r * a_row])
#endif
#define FLASHMOE_TILE_BEGIN(r)           \
  if constexpr (r < R) {                 \
    const auto a_r = FLASHMOE_TILE_A(r); \
    c##r##0 = hn::Mul(a_r, b0);          \
    c##r##1 = hn::Mul(a_r, b1);          \
  }
#define FLASHMOE_TILE_ADD(r)                \
  if constexpr (r < R) {                    \
    const auto a_r = FLASHMOE_TILE_A(r);    \
    c##r##0 = hn::MulAdd(a_r, b0, c##r##0); \
    c##r##1 = hn::MulAdd(a_r, b1, c##r##1); \
  }
#define FLASHMOE_TILE_STEP(ROW)                                                              \
  {                                                                                          \
    const auto b0 = kLayout.packed_b ? hn::Load(d, b) : hn::LoadU(d, b);                     \
    const auto b1 = kLayout.packed_b ? hn::Load(d, b + b_lanes) : hn::LoadU(d, b + b_lanes); \
    FLASHMOE_TILE_LOAD_A                                                                     \
    FLASHMOE_ROWS(ROW)                                                                       \
    a += a_step;                                                                             \
    b += b_step;                                                                             \
  }

enum class Tile { begin, add };  // whether C starts with this product or has a value already

// Packed, the R values of a[i] lie side by side, a_stride values on from those of a[i - 1], and b is vectors
// without gaps. In place, a is R rows, a_stride apart, and the two vectors of b[i] are b_stride values on
// from those of b[i - 1].
struct Layout {
  bool packed_a, packed_b;
};

// n >= 1. On NEON a is packed, and read in whole groups of four. The loop is not unrolled: g++ then moves
// multiply-adds of the same accumulator next to each other, at a third of the speed.
template <int R, Tile kTile, Layout kLayout>
HWY_INLINE void outer_product(const float* HWY_RESTRICT a, int64_t a_stride, const float* HWY_RESTRICT b,
                              int64_t b_stride, int64_t n FLASHMOE_ROWS(FLASHMOE_TILE_PARAMETER)) {
  static_assert(kLayout.packed_a || !FLASHMOE_NEON);
  const Tag d;
  const int64_t b_lanes = lanes();
  [[maybe_unused]] const int64_t a_row = kLayout.packed_a ? 1 : a_stride;
  const int64_t a_step = kLayout.packed_a ? a_stride : 1;
  const int64_t b_step = kLayout.packed_b ? 2 * b_lanes : b_stride;
  int64_t i = 0;
  if constexpr (kTile == Tile::begin) {
    FLASHMOE_TILE_STEP(FLASHMOE_TILE_BEGIN)
    i = 1;
  }
  for (; i < n; ++i) FLASHMOE_TILE_STEP(FLASHMOE_TILE_ADD)
}

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
