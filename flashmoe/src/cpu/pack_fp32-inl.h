// SPDX-License-Identifier: MIT
// Q, K and V of any type as fp32 in the order in which the tiled kernel reads them. Included once per SIMD
// target.
#if defined(FLASHMOE_CPU_PACK_FP32_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHMOE_CPU_PACK_FP32_INL_H_
#undef FLASHMOE_CPU_PACK_FP32_INL_H_
#else
#define FLASHMOE_CPU_PACK_FP32_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "cpu/arena.h"
#include "cpu/convert-inl.h"
#include "cpu/outer_product-inl.h"
#include "cpu/store_row.h"
#include "cpu/task.h"

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline int64_t padded_dim(int64_t dim) { return round_up(dim, 2 * lanes()); }

// What stands in for a row past the end. A member, since g++ exports variable templates from a library whose
// symbols are hidden.
template <class T>
struct Zeros {
  static constexpr T row[kMaxHeadDim] = {};
};

// to[i * stride + r] = element i of row r, for four rows of four.
template <class V>
HWY_INLINE void transpose_4x4(V r0, V r1, V r2, V r3, float* HWY_RESTRICT to, int64_t stride) {
  const hn::FixedTag<float, 4> d4;
  const auto low02 = hn::InterleaveLower(d4, r0, r2);
  const auto low13 = hn::InterleaveLower(d4, r1, r3);
  const auto high02 = hn::InterleaveUpper(d4, r0, r2);
  const auto high13 = hn::InterleaveUpper(d4, r1, r3);
  hn::StoreU(hn::InterleaveLower(d4, low02, low13), d4, to);
  hn::StoreU(hn::InterleaveUpper(d4, low02, low13), d4, to + stride);
  hn::StoreU(hn::InterleaveLower(d4, high02, high13), d4, to + 2 * stride);
  hn::StoreU(hn::InterleaveUpper(d4, high02, high13), d4, to + 3 * stride);
}

// to[d * stride + r] = rows[r][d] * scale for r < 4 and d < dim.
template <class T>
HWY_INLINE void transpose_4_rows(const T* const rows[4], int64_t dim, float scale, float* HWY_RESTRICT to,
                                 int64_t stride) {
  const hn::FixedTag<float, 4> d4;
  const auto factor = hn::Set(d4, scale);
  const T* HWY_RESTRICT a = rows[0];
  const T* HWY_RESTRICT b = rows[1];
  const T* HWY_RESTRICT c = rows[2];
  const T* HWY_RESTRICT e = rows[3];
  int64_t d = 0;
  for (; d + 4 <= dim; d += 4, to += 4 * stride) {
    transpose_4x4(hn::Mul(load_fp32(d4, a + d), factor), hn::Mul(load_fp32(d4, b + d), factor),
                  hn::Mul(load_fp32(d4, c + d), factor), hn::Mul(load_fp32(d4, e + d), factor), to, stride);
  }
  for (; d < dim; ++d, to += stride) {
    to[0] = to_float(a[d]) * scale;
    to[1] = to_float(b[d]) * scale;
    to[2] = to_float(c[d]) * scale;
    to[3] = to_float(e[d]) * scale;
  }
}

// The rows [row, row + count), count <= 2 lanes, times scale: [dim][2 lanes], zeros past them.
template <class T>
void pack_transposed(const PackedRows<const T>& rows, int64_t row, int64_t count, int64_t dim, float scale,
                     float* to) {
  for (int64_t r = 0; r < 2 * lanes(); r += 4) {
    const T* from[4];
    for (int64_t i = 0; i < 4; ++i) from[i] = r + i < count ? rows[row + r + i] : Zeros<T>::row;
    transpose_4_rows(from, dim, scale, to + r, 2 * lanes());
  }
}

// K of the keys [key, key + keys): [tile][dim][kTileRows], zeros up to the end of the last tile and one store
// past it.
template <class T>
void pack_k_fp32(const Task& task, int64_t key, int64_t keys, float* to) {
  const int64_t dim = task.problem->head_dim;
  for (int64_t tile = 0; tile < keys; tile += kTileRows, to += kTileRows * dim) {
    // From the back: where a tile is not a multiple of four rows, the next store mends what this one
    // spoils.
    for (int64_t r = round_up(kTileRows, 4) - 4; r >= 0; r -= 4) {
      const T* from[4];
      for (int64_t i = 0; i < 4; ++i) {
        const int64_t row = tile + r + i;
        from[i] = r + i < kTileRows && row < keys
                      ? static_cast<const T*>(task.k) + (key + row) * task.k_row_stride
                      : Zeros<T>::row;
      }
      transpose_4_rows(from, dim, 1.0F, to + r, kTileRows);
    }
  }
}

// The rows [row, row + count): [dim tile][count][2 lanes], zeros past dim. Returns whether every element is
// finite.
template <class T>
bool pack_columns(const PackedRows<const T>& rows, int64_t row, int64_t count, int64_t dim, float* packed) {
  constexpr int64_t kAtOnce = 16;  // rows that stay in the first cache while their columns are gathered
  const Tag d;
  const int64_t n = lanes();
  auto poison = hn::Zero(d);  // 0 * x summed up: 0 unless some x is not finite
  for (int64_t begin = 0; begin < count; begin += kAtOnce) {
    const int64_t some = std::min(count - begin, kAtOnce);
    const T* from[kAtOnce];
    for (int64_t i = 0; i < some; ++i) from[i] = rows[row + begin + i];
    for (int64_t column = 0; column < padded_dim(dim); column += 2 * n) {
      float* HWY_RESTRICT to = packed + (column * count + begin * 2 * n);
      const bool whole = column + 2 * n <= dim;
      for (int64_t i = 0; i < some; ++i, to += 2 * n) {
        const T* x = from[i] + column;
        const auto first = whole ? load_fp32(d, x) : load_fp32_partial(d, x, dim - column);
        const auto second = whole ? load_fp32(d, x + n) : load_fp32_partial(d, x + n, dim - column - n);
        hn::Store(first, d, to);
        hn::Store(second, d, to + n);
        poison = hn::MulAdd(first, hn::Zero(d), poison);
        poison = hn::MulAdd(second, hn::Zero(d), poison);
      }
    }
  }
  return hn::AllTrue(d, hn::Eq(poison, hn::Zero(d)));
}

// Whether every element of V of the keys [key, key + keys) is finite. Rows are whole vectors.
template <class T>
bool finite_values(const Task& task, int64_t key, int64_t keys) {
  const Tag d;
  const T* row = static_cast<const T*>(task.v) + key * task.v_row_stride;
  auto poison = hn::Zero(d);  // as above
  for (int64_t i = 0; i < keys; ++i, row += task.v_row_stride) {
    for (int64_t column = 0; column < task.problem->head_dim; column += lanes())
      poison = hn::MulAdd(load_fp32(d, row + column), hn::Zero(d), poison);
  }
  return hn::AllTrue(d, hn::Eq(poison, hn::Zero(d)));
}

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
