// SPDX-License-Identifier: MIT
// The micro-kernel of both products: a tile of rows by two vectors, C = sum over i of a[i] (outer) b[i].
// Included once per SIMD target.
#if defined(FLASHMOE_CPU_OUTER_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHMOE_CPU_OUTER_PRODUCT_INL_H_
#undef FLASHMOE_CPU_OUTER_PRODUCT_INL_H_
#else
#define FLASHMOE_CPU_OUTER_PRODUCT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "cpu/target-inl.h"
#include "cpu/vector_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Rows of a tile: 16 accumulators hide the latency of the multiply-add; of 16 registers, 12 can be
// accumulators.
inline constexpr int kTileRows = FLASHMOE_HAVE_32_REGISTERS ? 8 : 6;

// Packed, the values of a[i], one a row, lie side by side, a_stride values on from those of a[i - 1], and b
// is vectors without gaps. In place, a is rows, a_stride apart, and the two vectors of b[i] are b_stride
// values on from those of b[i - 1].
struct Layout {
  bool packed_a, packed_b;
};

// a[r] in every lane. On NEON multiplying by one lane is free and a load that broadcasts is not (the loads of
// four rows are one); elsewhere it is the other way round.
template <int kRow>
HWY_INLINE Vector broadcast_row(const float* a, [[maybe_unused]] int64_t row_stride) {
#if FLASHMOE_NEON
  return hn::Broadcast<kRow % 4>(hn::LoadU(Tag(), a + kRow / 4 * 4));
#else
  return hn::Set(Tag(), a[kRow * row_stride]);
#endif
}

template <bool kFirst>
HWY_INLINE void accumulate(Vector a, Vector b, Vector& c) {
  if constexpr (kFirst) {
    c = hn::Mul(a, b);
  } else {
    c = hn::MulAdd(a, b, c);
  }
}

// One step of all rows.
template <bool kFirst, std::size_t... i, class... V>
HWY_INLINE void accumulate_rows(std::index_sequence<i...>, const float* a, int64_t a_row, Vector b0,
                                Vector b1, V&... c) {
  (accumulate<kFirst>(broadcast_row<i / 2>(a, a_row), i % 2 == 0 ? b0 : b1, c), ...);
}

// The tile `c` has R rows, two vectors each. n >= 1. On NEON a is packed, and read in whole groups of four.
// The loop is not unrolled: g++ then moves multiply-adds of the same accumulator next to each other, at a
// third of the speed.
template <Layout kLayout, class... V>
HWY_INLINE void outer_product(const float* HWY_RESTRICT a, int64_t a_stride, const float* HWY_RESTRICT b,
                              int64_t b_stride, int64_t n, V&... c) {
  static_assert(kLayout.packed_a || !FLASHMOE_NEON);
  constexpr std::index_sequence_for<V...> kEach;
  const Tag d;
  const int64_t b_lanes = lanes();
  const int64_t a_row = kLayout.packed_a ? 1 : a_stride;
  const int64_t a_step = kLayout.packed_a ? a_stride : 1;
  const int64_t b_step = kLayout.packed_b ? 2 * b_lanes : b_stride;
  const auto first0 = kLayout.packed_b ? hn::Load(d, b) : hn::LoadU(d, b);
  const auto first1 = kLayout.packed_b ? hn::Load(d, b + b_lanes) : hn::LoadU(d, b + b_lanes);
  accumulate_rows<true>(kEach, a, a_row, first0, first1, c...);
  a += a_step;
  b += b_step;
  for (int64_t i = 1; i < n; ++i, a += a_step, b += b_step) {
    const auto b0 = kLayout.packed_b ? hn::Load(d, b) : hn::LoadU(d, b);
    const auto b1 = kLayout.packed_b ? hn::Load(d, b + b_lanes) : hn::LoadU(d, b + b_lanes);
    accumulate_rows<false>(kEach, a, a_row, b0, b1, c...);
  }
}

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
