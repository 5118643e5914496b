// SPDX-License-Identifier: MIT
// The arithmetic of the tiled kernel in fp32: what attend_tiled of cpu/tiled.h calls. Included once per SIMD
// target.
//
// Scores are computed transposed, S^T = K Q^T with query rows along the lanes, so that row maxima and sums
// are plain vector operations, and P^T is the broadcast operand of O += P V. A panel is two vectors of query
// rows. Layouts: Q [dim][panel rows], K [tile][dim][kTileRows], V [dim tile][keys][2 lanes], P [keys][panel
// rows], O [panel rows][dim rounded up to 2 lanes].
#if defined(FLASHMOE_CPU_TILE_FP32_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHMOE_CPU_TILE_FP32_INL_H_
#undef FLASHMOE_CPU_TILE_FP32_INL_H_
#else
#define FLASHMOE_CPU_TILE_FP32_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "cpu/arena.h"
#include "cpu/convert-inl.h"
#include "cpu/exp2-inl.h"
#include "cpu/outer_product-inl.h"
#include "cpu/store_row.h"
#include "cpu/task.h"
#include "cpu/tiled.h"

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int64_t kBlockKeys = 256 / kTileRows * kTileRows;
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

inline int64_t padded_dim(int64_t dim) { return round_up(dim, 2 * lanes()); }

// What stands in for a row past the end.
template <class T>
inline constexpr T kZeros[256] = {};

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
    const auto r0 = hn::Mul(load_fp32(d4, a + d), factor);
    const auto r1 = hn::Mul(load_fp32(d4, b + d), factor);
    const auto r2 = hn::Mul(load_fp32(d4, c + d), factor);
    const auto r3 = hn::Mul(load_fp32(d4, e + d), factor);
    const auto low02 = hn::InterleaveLower(d4, r0, r2);
    const auto low13 = hn::InterleaveLower(d4, r1, r3);
    const auto high02 = hn::InterleaveUpper(d4, r0, r2);
    const auto high13 = hn::InterleaveUpper(d4, r1, r3);
    hn::StoreU(hn::InterleaveLower(d4, low02, low13), d4, to);
    hn::StoreU(hn::InterleaveUpper(d4, low02, low13), d4, to + stride);
    hn::StoreU(hn::InterleaveLower(d4, high02, high13), d4, to + 2 * stride);
    hn::StoreU(hn::InterleaveUpper(d4, high02, high13), d4, to + 3 * stride);
  }
  for (; d < dim; ++d, to += stride) {
    to[0] = to_float(a[d]) * scale;
    to[1] = to_float(b[d]) * scale;
    to[2] = to_float(c[d]) * scale;
    to[3] = to_float(e[d]) * scale;
  }
}

// S^T of one panel and the first `keys` keys, to s; raises the two vectors of row maxima.
inline void multiply_scores(const PanelStep& step, float* HWY_RESTRICT s, Vector& max0, Vector& max1) {
  const Tag d;
  const int64_t n = lanes();
  const auto* q = reinterpret_cast<const float*>(step.q);
  const auto* k = reinterpret_cast<const float*>(step.k);
  for (int64_t key = 0; key < step.keys; key += kTileRows) {
    FLASHMOE_ROWS(FLASHMOE_TILE_ZERO)
    outer_product<kTileRows>(k + key * step.dim, kTileRows, q,
                             step.dim FLASHMOE_ROWS(FLASHMOE_TILE_ARGUMENT));
#define FLASHMOE_TILE_SCORES(r)                 \
  if constexpr (r < kTileRows) {                \
    hn::Store(c##r##0, d, s + (2 * r) * n);     \
    hn::Store(c##r##1, d, s + (2 * r + 1) * n); \
  }
#define FLASHMOE_TILE_MAX(r)       \
  if constexpr (r < kTileRows) {   \
    max0 = hn::Max(max0, c##r##0); \
    max1 = hn::Max(max1, c##r##1); \
  }
    FLASHMOE_ROWS(FLASHMOE_TILE_SCORES)
    if (key + kTileRows <= step.full_keys) {
      FLASHMOE_ROWS(FLASHMOE_TILE_MAX)
      s += 2 * n * kTileRows;
      continue;
    }
    // Some row sees not all of these keys, or they lie past the end.
    const hn::RebindToSigned<Tag> di;
    const auto whole = hn::Set(di, static_cast<int32_t>(step.keys));
    const bool per_row = step.full_keys < step.keys;
    const auto limit0 = per_row ? hn::LoadU(di, step.limits) : whole;
    const auto limit1 = per_row ? hn::LoadU(di, step.limits + n) : whole;
    const auto hidden = hn::Set(d, -kInfinity);
    for (int r = 0; r < kTileRows; ++r, s += 2 * n) {
      const auto index = hn::Set(di, static_cast<int32_t>(key + r));
      const auto s0 = hn::IfThenElse(hn::RebindMask(d, hn::Lt(index, limit0)), hn::Load(d, s), hidden);
      const auto s1 = hn::IfThenElse(hn::RebindMask(d, hn::Lt(index, limit1)), hn::Load(d, s + n), hidden);
      hn::Store(s0, d, s);
      hn::Store(s1, d, s + n);
      max0 = hn::Max(max0, s0);
      max1 = hn::Max(max1, s1);
    }
  }
}

// s becomes exp2(s - m) in place; adds the row sums.
inline void exponentiate(float* HWY_RESTRICT s, int64_t keys, Vector m0, Vector m1, Vector& sum0,
                         Vector& sum1) {
  const Tag d;
  const int64_t n = lanes();
  int64_t key = 0;
  auto more0 = hn::Zero(d);
  auto more1 = hn::Zero(d);
  for (; key + 2 <= keys; key += 2, s += 4 * n) {
    const auto p00 = exp2_nonpositive(hn::Sub(hn::Load(d, s), m0));
    const auto p01 = exp2_nonpositive(hn::Sub(hn::Load(d, s + n), m1));
    const auto p10 = exp2_nonpositive(hn::Sub(hn::Load(d, s + 2 * n), m0));
    const auto p11 = exp2_nonpositive(hn::Sub(hn::Load(d, s + 3 * n), m1));
    hn::Store(p00, d, s);
    hn::Store(p01, d, s + n);
    hn::Store(p10, d, s + 2 * n);
    hn::Store(p11, d, s + 3 * n);
    sum0 = hn::Add(sum0, p00);
    sum1 = hn::Add(sum1, p01);
    more0 = hn::Add(more0, p10);
    more1 = hn::Add(more1, p11);
  }
  if (key < keys) {
    const auto p0 = exp2_nonpositive(hn::Sub(hn::Load(d, s), m0));
    const auto p1 = exp2_nonpositive(hn::Sub(hn::Load(d, s + n), m1));
    hn::Store(p0, d, s);
    hn::Store(p1, d, s + n);
    sum0 = hn::Add(sum0, p0);
    sum1 = hn::Add(sum1, p1);
  }
  sum0 = hn::Add(sum0, more0);
  sum1 = hn::Add(sum1, more1);
}

// R rows of O, from `row` on, += P V over the first `keys` keys.
template <int R>
HWY_INLINE void weigh_rows(const PanelStep& step, const float* HWY_RESTRICT p, int64_t row, int64_t keys) {
  const Tag d;
  const int64_t n = lanes();
  const int64_t stride = padded_dim(step.dim);
  const auto* v = reinterpret_cast<const float*>(step.v);
  for (int64_t column = 0; column < stride; column += 2 * n, v += step.block_keys * 2 * n) {
    float* HWY_RESTRICT o = step.out + row * stride + column;
    FLASHMOE_ROWS(FLASHMOE_TILE_ZERO)
#define FLASHMOE_TILE_LOAD(r)                  \
  if constexpr (r < R) {                       \
    c##r##0 = hn::Load(d, o + r * stride);     \
    c##r##1 = hn::Load(d, o + r * stride + n); \
  }
#define FLASHMOE_TILE_STORE(r)                 \
  if constexpr (r < R) {                       \
    hn::Store(c##r##0, d, o + r * stride);     \
    hn::Store(c##r##1, d, o + r * stride + n); \
  }
    FLASHMOE_ROWS(FLASHMOE_TILE_LOAD)
    outer_product<R>(p + row, 2 * n, v, keys FLASHMOE_ROWS(FLASHMOE_TILE_ARGUMENT));
    FLASHMOE_ROWS(FLASHMOE_TILE_STORE)
  }
}

inline void weigh_values(const PanelStep& step, const float* p, int64_t keys) {
#if FLASHMOE_HAVE_32_REGISTERS
  for (int64_t row = 0; row < 2 * lanes(); row += 8) weigh_rows<8>(step, p, row, keys);
#else
  if (lanes() == 8) {
    weigh_rows<6>(step, p, 0, keys);
    weigh_rows<5>(step, p, 6, keys);
    weigh_rows<5>(step, p, 11, keys);
  } else {
    for (int64_t row = 0; row < 2 * lanes(); row += 4) weigh_rows<4>(step, p, row, keys);
  }
#endif
}

// The keys that only some rows see, row by row: for values that are not finite, where a weight of 0 does
// harm.
inline void weigh_values_seen(const PanelStep& step, const float* p) {
  const int64_t n = lanes();
  const int64_t stride = padded_dim(step.dim);
  const auto* v = reinterpret_cast<const float*>(step.v);
  for (int64_t r = 0; r < 2 * n; ++r) {
    for (int64_t key = step.full_keys; key < step.limits[r]; ++key) {
      for (int64_t column = 0; column < step.dim; ++column) {
        const int64_t at = (column / (2 * n) * step.block_keys + key) * 2 * n + column % (2 * n);
        step.out[r * stride + column] += p[key * 2 * n + r] * v[at];
      }
    }
  }
}

inline void rescale_rows(float* HWY_RESTRICT out, int64_t stride, const float* factors) {
  const Tag d;
  for (int64_t r = 0; r < 2 * lanes(); ++r, out += stride) {
    const auto factor = hn::Set(d, factors[r]);
    for (int64_t i = 0; i < stride; i += lanes())
      hn::Store(hn::Mul(hn::Load(d, out + i), factor), d, out + i);
  }
}

inline void absorb_fp32(const PanelStep& step) {
  const Tag d;
  const int64_t n = lanes();
  auto* s = reinterpret_cast<float*>(step.weights);
  const auto old0 = hn::Load(d, step.max);
  const auto old1 = hn::Load(d, step.max + n);
  auto max0 = old0;
  auto max1 = old1;
  multiply_scores(step, s, max0, max1);
  hn::Store(max0, d, step.max);
  hn::Store(max1, d, step.max + n);

  // A row that has seen nothing but -inf: subtract 0, so that its weights are 0 and not NaN.
  const auto lowest = hn::Set(d, -kInfinity);
  const auto base0 = hn::IfThenElseZero(hn::Ne(max0, lowest), max0);
  const auto base1 = hn::IfThenElseZero(hn::Ne(max1, lowest), max1);
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  exponentiate(s, step.keys, base0, base1, sum0, sum1);

  auto total0 = hn::Load(d, step.sum);
  auto total1 = hn::Load(d, step.sum + n);
  if (!hn::AllTrue(d, hn::And(hn::Eq(old0, max0), hn::Eq(old1, max1)))) {
    const auto factor0 = exp2_nonpositive(hn::Sub(old0, base0));
    const auto factor1 = exp2_nonpositive(hn::Sub(old1, base1));
    total0 = hn::Mul(total0, factor0);
    total1 = hn::Mul(total1, factor1);
    HWY_ALIGN float factors[2 * hn::MaxLanes(d)];
    hn::Store(factor0, d, factors);
    hn::Store(factor1, d, factors + n);
    rescale_rows(step.out, padded_dim(step.dim), factors);
  }
  hn::Store(hn::Add(total0, sum0), d, step.sum);
  hn::Store(hn::Add(total1, sum1), d, step.sum + n);

  if (step.v_finite || step.full_keys == step.keys) {
    weigh_values(step, s, step.keys);
  } else {
    weigh_values(step, s, step.full_keys);
    weigh_values_seen(step, s);
  }
}

template <class T>
struct TileFp32 {
  using Element = T;
  static int64_t panel_rows() { return 2 * lanes(); }
  static int64_t block_keys() { return kBlockKeys; }
  static int64_t q_panel_bytes(int64_t dim) { return dim * panel_rows() * 4; }
  // Four keys are written at a time: the last tile may write past its end.
  static int64_t k_block_bytes(int64_t dim, int64_t keys) { return (round_up(keys, kTileRows) * dim + 4) * 4; }
  static int64_t v_block_bytes(int64_t dim, int64_t keys) { return keys * padded_dim(dim) * 4; }
  static int64_t weights_bytes(int64_t keys) { return (round_up(keys, kTileRows) * panel_rows() + 8) * 4; }
  static int64_t out_floats(int64_t dim) { return panel_rows() * padded_dim(dim); }

  static void pack_q(const Task& task, int64_t row, int64_t rows, std::byte* q) {
    const int64_t group = task.problem->group();
    for (int64_t r = 0; r < panel_rows(); r += 4) {
      const T* from[4];
      for (int64_t i = 0; i < 4; ++i) {
        const int64_t position = (row + r + i) / group;
        const int64_t head = (row + r + i) % group;
        from[i] = r + i < rows ? static_cast<const T*>(task.q) + head * task.q_head_stride +
                                     position * task.q_row_stride
                               : kZeros<T>;
      }
      transpose_4_rows(from, task.problem->head_dim, task.problem->scale * kLog2E,
                       reinterpret_cast<float*>(q) + r, panel_rows());
    }
  }

  static void pack_k(const Task& task, int64_t key, int64_t keys, std::byte* k) {
    const int64_t dim = task.problem->head_dim;
    auto* to = reinterpret_cast<float*>(k);
    for (int64_t tile = 0; tile < keys; tile += kTileRows, to += kTileRows * dim) {
      // From the back: where a tile is not a multiple of four rows, the next store mends what this one
      // spoils.
      for (int64_t r = round_up(kTileRows, 4) - 4; r >= 0; r -= 4) {
        const T* from[4];
        for (int64_t i = 0; i < 4; ++i) {
          const int64_t row = tile + r + i;
          from[i] = r + i < kTileRows && row < keys
                        ? static_cast<const T*>(task.k) + (key + row) * task.k_row_stride
                        : kZeros<T>;
        }
        transpose_4_rows(from, dim, 1.0F, to + r, kTileRows);
      }
    }
  }

  static bool pack_v(const Task& task, int64_t key, int64_t keys, std::byte* v) {
    constexpr int64_t kAtOnce = 16;  // rows that stay in the first cache while their columns are gathered
    const Tag d;
    const int64_t n = lanes();
    const int64_t dim = task.problem->head_dim;
    const T* rows = static_cast<const T*>(task.v) + key * task.v_row_stride;
    auto poison = hn::Zero(d);  // 0 * v summed up: 0 unless some v is not finite
    for (int64_t begin = 0; begin < keys; begin += kAtOnce) {
      const int64_t count = std::min(keys - begin, kAtOnce);
      for (int64_t column = 0; column < padded_dim(dim); column += 2 * n) {
        float* HWY_RESTRICT to = reinterpret_cast<float*>(v) + (column * keys + begin * 2 * n);
        const T* from = rows + begin * task.v_row_stride + column;
        const bool whole = column + 2 * n <= dim;
        for (int64_t i = 0; i < count; ++i, to += 2 * n, from += task.v_row_stride) {
          const auto first = whole ? load_fp32(d, from) : load_fp32_partial(d, from, dim - column);
          const auto second =
              whole ? load_fp32(d, from + n) : load_fp32_partial(d, from + n, dim - column - n);
          hn::Store(first, d, to);
          hn::Store(second, d, to + n);
          poison = hn::MulAdd(first, hn::Zero(d), poison);
          poison = hn::MulAdd(second, hn::Zero(d), poison);
        }
      }
    }
    return hn::AllTrue(d, hn::Eq(poison, hn::Zero(d)));
  }

  static void absorb(const PanelStep& step) { absorb_fp32(step); }

  static const float* out_row(const float* out, int64_t row, int64_t dim, float*) {
    return out + row * padded_dim(dim);
  }
  static void store(const float* from, float factor, int64_t dim, T* to) {
    store_scaled(from, factor, dim, to);
  }
};

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
