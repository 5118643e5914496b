// SPDX-License-Identifier: MIT
// A panel of 2 lanes rows times any number of columns: what every product of the tiled kernels is made of.
// Included once per SIMD target.
#if defined(FLASHMOE_CPU_PANEL_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHMOE_CPU_PANEL_PRODUCT_INL_H_
#undef FLASHMOE_CPU_PANEL_PRODUCT_INL_H_
#else
#define FLASHMOE_CPU_PANEL_PRODUCT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <utility>

#include "cpu/outer_product-inl.h"
#include "cpu/vector_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

enum class Tile { begin, add };  // whether C is this product or has a value already

// C[r][j] = or += sum over i < n of a[i][r] b[i][j], for r < 2 lanes. Columns j come in pairs of vectors.
struct PanelProduct {
  const float* a;
  int64_t a_step;  // from a[i] to a[i + 1]; its rows lie side by side
  const float* b;
  int64_t b_step;    // from b[i] to b[i + 1], within a pair of vectors of columns; 2 lanes where packed
  int64_t b_column;  // from one pair of vectors to the next
  int64_t n;         // at least 1 where C begins
  float* c;
  int64_t c_row, c_column;
  int64_t column_pairs;
};

// Some rows of C and one pair of vectors of its columns.
template <Tile kTile, bool kPackedB>
struct ProductTile {
  const float* HWY_RESTRICT a;
  int64_t a_step;
  const float* b;
  int64_t b_step;
  int64_t n;
  float* HWY_RESTRICT c;
  int64_t c_row;

  template <class... V>
  HWY_INLINE void operator()(V&... sums) const {
    constexpr std::index_sequence_for<V...> kEach;
    outer_product<Layout{.packed_a = true, .packed_b = kPackedB}>(a, a_step, b, b_step, n, sums...);
    // Added to C only now: in one sum over all products, roundings would add up.
    if constexpr (kTile == Tile::add) add_rows<2>(kEach, c, c_row, sums...);
    store_rows<2>(kEach, c, c_row, sums...);
  }
};

template <int kRows, Tile kTile, bool kPackedB>
HWY_INLINE void product_tile(const PanelProduct& p, int64_t row, int64_t column) {
  with_vectors<2 * kRows>(ProductTile<kTile, kPackedB>{.a = p.a + row,
                                                       .a_step = p.a_step,
                                                       .b = p.b + column * p.b_column,
                                                       .b_step = p.b_step,
                                                       .n = p.n,
                                                       .c = p.c + row * p.c_row + column * p.c_column,
                                                       .c_row = p.c_row});
}

// Rows are the inner loop: two vectors of columns are read from the second cache once for all of them.
template <Tile kTile, bool kPackedB>
HWY_NOINLINE void multiply_panel(const PanelProduct& p) {
  if (kTile == Tile::add && p.n == 0) return;
  for (int64_t column = 0; column < p.column_pairs; ++column) {
#if FLASHMOE_HAVE_32_REGISTERS
    for (int64_t row = 0; row < 2 * lanes(); row += 8) product_tile<8, kTile, kPackedB>(p, row, column);
#else
    if (lanes() == 8) {
      product_tile<6, kTile, kPackedB>(p, 0, column);
      product_tile<5, kTile, kPackedB>(p, 6, column);
      product_tile<5, kTile, kPackedB>(p, 11, column);
    } else {
      for (int64_t row = 0; row < 2 * lanes(); row += 4) product_tile<4, kTile, kPackedB>(p, row, column);
    }
#endif
  }
}

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
