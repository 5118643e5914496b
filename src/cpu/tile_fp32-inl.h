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
#include <type_traits>

#include "cpu/arena.h"
#include "cpu/convert-inl.h"
#include "cpu/exp2-inl.h"
#include "cpu/outer_product-inl.h"
#include "cpu/pack_fp32-inl.h"
#include "cpu/task.h"
#include "cpu/tiled.h"

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int64_t kBlockKeys = 256 / kTileRows * kTileRows;
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Whether K and V of a block are read where they lie: fp32, whole tiles, and so few panels that packing would
// cost more than it saves. Not on Arm: NEON needs K packed.
template <class T>
bool in_place(const Task& task, int64_t keys) {
  return HWY_ARCH_X86 && std::is_same_v<T, float> && task.row_end - task.row_begin <= 8 * lanes() &&
         keys % kTileRows == 0 && task.problem->head_dim % (2 * lanes()) == 0;
}

// K and V of a block: in place, or as they were packed.
template <bool kInPlace>
struct Block {
  const float* k;
  int64_t k_stride;  // as outer_product wants it
  int64_t k_tile;    // from tile to tile
  const float* v;
  int64_t v_key, v_column;  // from key to key, and from two vectors of columns to the next two

  explicit Block(const PanelStep& step) {
    if constexpr (kInPlace) {
      k_stride = step.task->k_row_stride;
      k_tile = kTileRows * k_stride;
      k = static_cast<const float*>(step.task->k) + step.key * k_stride;
      v_key = step.task->v_row_stride;
      v_column = 2 * lanes();
      v = static_cast<const float*>(step.task->v) + step.key * v_key;
    } else {
      k_stride = kTileRows;
      k_tile = kTileRows * step.dim;
      k = reinterpret_cast<const float*>(step.k);
      v_key = 2 * lanes();
      v_column = step.block_keys * v_key;
      v = reinterpret_cast<const float*>(step.v);
    }
  }
};

// S^T of one panel and the first `keys` keys, to s; raises the row maxima.
template <bool kInPlace>
HWY_NOINLINE void multiply_scores(const PanelStep& step, float* HWY_RESTRICT s) {
  const Tag d;
  const int64_t n = lanes();
  auto max0 = hn::Load(d, step.max);
  auto max1 = hn::Load(d, step.max + n);
  const auto* q = reinterpret_cast<const float*>(step.q);
  const Block<kInPlace> block(step);
  const float* k = block.k;
  for (int64_t key = 0; key < step.keys; key += kTileRows, k += block.k_tile) {
    FLASHMOE_ROWS(FLASHMOE_TILE_DECLARE)
    outer_product<kTileRows, Tile::begin, Layout{.packed_a = !kInPlace, .packed_b = true}>(
        k, block.k_stride, q, 0, step.dim FLASHMOE_ROWS(FLASHMOE_TILE_ARGUMENT));
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
  hn::Store(max0, d, step.max);
  hn::Store(max1, d, step.max + n);
}

// s becomes exp2(s - base) in place, and `sums` the row sums. A function of its own, so that the constants of
// exp2 have all registers to themselves.
HWY_NOINLINE void exponentiate(float* HWY_RESTRICT s, int64_t keys, const float* base, float* sums) {
  const Tag d;
  const int64_t n = lanes();
  const auto base0 = hn::Load(d, base);
  const auto base1 = hn::Load(d, base + n);
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
#define FLASHMOE_EXP(r)                                                            \
  const auto p##r##0 = exp2_bounded(hn::Sub(hn::Load(d, s + (2 * r) * n), base0)); \
  const auto p##r##1 = exp2_bounded(hn::Sub(hn::Load(d, s + (2 * r + 1) * n), base1));
#define FLASHMOE_EXP_STORE(r)                 \
  hn::Store(p##r##0, d, s + (2 * r) * n);     \
  hn::Store(p##r##1, d, s + (2 * r + 1) * n); \
  sum0 = hn::Add(sum0, p##r##0);              \
  sum1 = hn::Add(sum1, p##r##1);
  int64_t key = 0;
#if FLASHMOE_HAVE_32_REGISTERS
  // Eight chains at once: the compiler interleaves them better than the core does (2 points at D=64 over
  // two).
  for (; key + 4 <= keys; key += 4, s += 8 * n) {
    FLASHMOE_EXP(0)
    FLASHMOE_EXP(1)
    FLASHMOE_EXP(2)
    FLASHMOE_EXP(3)
    FLASHMOE_EXP_STORE(0)
    FLASHMOE_EXP_STORE(1)
    FLASHMOE_EXP_STORE(2)
    FLASHMOE_EXP_STORE(3)
  }
#endif
  for (; key < keys; ++key, s += 2 * n) {
    FLASHMOE_EXP(0)
    FLASHMOE_EXP_STORE(0)
  }
  hn::Store(sum0, d, sums);
  hn::Store(sum1, d, sums + n);
}

// R rows of O from `row` on, and two vectors of its columns, += P V over the first `keys` keys.
template <int R, bool kInPlace>
HWY_INLINE void weigh_tile(const PanelStep& step, const float* HWY_RESTRICT p, int64_t row, int64_t column,
                           int64_t keys) {
  const Tag d;
  const int64_t n = lanes();
  const int64_t stride = padded_dim(step.dim);
  const Block<kInPlace> block(step);
  const float* v = block.v + column / (2 * n) * block.v_column;
  float* HWY_RESTRICT o = step.out + row * stride + column;
  FLASHMOE_ROWS(FLASHMOE_TILE_DECLARE)
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
  outer_product<R, Tile::add, Layout{.packed_a = true, .packed_b = !kInPlace}>(
      p + row, 2 * n, v, block.v_key, keys FLASHMOE_ROWS(FLASHMOE_TILE_ARGUMENT));
  FLASHMOE_ROWS(FLASHMOE_TILE_STORE)
}

// Rows are the inner loop: two vectors of V's columns are read from the second cache once for all of them (5
// % of the whole kernel on AVX-512, with four tiles of rows in a panel).
template <bool kInPlace>
HWY_NOINLINE void weigh_values(const PanelStep& step, const float* p, int64_t keys) {
  for (int64_t column = 0; column < padded_dim(step.dim); column += 2 * lanes()) {
#if FLASHMOE_HAVE_32_REGISTERS
    for (int64_t row = 0; row < 2 * lanes(); row += 8) weigh_tile<8, kInPlace>(step, p, row, column, keys);
#else
    if (lanes() == 8) {
      weigh_tile<6, kInPlace>(step, p, 0, column, keys);
      weigh_tile<5, kInPlace>(step, p, 6, column, keys);
      weigh_tile<5, kInPlace>(step, p, 11, column, keys);
    } else {
      for (int64_t row = 0; row < 2 * lanes(); row += 4) weigh_tile<4, kInPlace>(step, p, row, column, keys);
    }
#endif
  }
}

// The keys that only some rows see, row by row: for values that are not finite, where a weight of 0 does
// harm.
template <bool kInPlace>
inline void weigh_values_seen(const PanelStep& step, const float* p) {
  const int64_t n = lanes();
  const int64_t stride = padded_dim(step.dim);
  const Block<kInPlace> block(step);
  for (int64_t r = 0; r < 2 * n; ++r) {
    for (int64_t key = step.full_keys; key < step.limits[r]; ++key) {
      for (int64_t column = 0; column < step.dim; ++column) {
        const int64_t at = column / (2 * n) * block.v_column + key * block.v_key + column % (2 * n);
        step.out[r * stride + column] += p[key * 2 * n + r] * block.v[at];
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

template <bool kInPlace>
void absorb_fp32(const PanelStep& step) {
  const Tag d;
  const int64_t n = lanes();
  auto* s = reinterpret_cast<float*>(step.weights);
  HWY_ALIGN float old_max[2 * hn::MaxLanes(d)];
  HWY_ALIGN float base[2 * hn::MaxLanes(d)];
  HWY_ALIGN float sums[2 * hn::MaxLanes(d)];
  HWY_ALIGN float factors[2 * hn::MaxLanes(d)];
  std::copy_n(step.max, 2 * n, old_max);
  multiply_scores<kInPlace>(step, s);
  bool rose = false;
  for (int64_t i = 0; i < 2 * n; i += n) {
    const auto old = hn::Load(d, old_max + i);
    const auto max = hn::Load(d, step.max + i);
    // A row that has seen nothing but -inf: subtract 0, so that its weights are 0 and not NaN.
    const auto subtract = hn::IfThenElseZero(hn::Ne(max, hn::Set(d, -kInfinity)), max);
    hn::Store(subtract, d, base + i);
    hn::Store(exp2_bounded(hn::Sub(old, subtract)), d, factors + i);
    rose = rose || !hn::AllTrue(d, hn::Eq(old, max));
  }
  if (rose) rescale_rows(step.out, padded_dim(step.dim), factors);
  exponentiate(s, step.keys, base, sums);
  for (int64_t i = 0; i < 2 * n; i += n) {
    auto total = hn::Load(d, step.sum + i);
    if (rose) total = hn::Mul(total, hn::Load(d, factors + i));
    hn::Store(hn::Add(total, hn::Load(d, sums + i)), d, step.sum + i);
  }

  if (step.v_finite || step.full_keys == step.keys) {
    weigh_values<kInPlace>(step, s, step.keys);
  } else {
    weigh_values<kInPlace>(step, s, step.full_keys);
    weigh_values_seen<kInPlace>(step, s);
  }
}

template <class T>
struct TileFp32 {
  using Element = T;
  static int64_t panel_rows() { return 2 * lanes(); }
  static int64_t block_keys() { return kBlockKeys; }
  static int64_t q_panel_bytes(int64_t dim) { return dim * panel_rows() * 4; }
  // Four keys are written at a time: the last tile may write past its end.
  static int64_t k_block_bytes(int64_t dim, int64_t keys) {
    return (round_up(keys, kTileRows) * dim + 4) * 4;
  }
  static int64_t v_block_bytes(int64_t dim, int64_t keys) { return keys * padded_dim(dim) * 4; }
  static int64_t weights_bytes(int64_t keys) { return (round_up(keys, kTileRows) * panel_rows() + 8) * 4; }
  static int64_t out_floats(int64_t dim) { return panel_rows() * padded_dim(dim); }

  static void pack_q(const Task& task, int64_t row, int64_t rows, std::byte* q) {
    pack_q_fp32<T>(task, row, rows, reinterpret_cast<float*>(q));
  }
  static void pack_k(const Task& task, int64_t key, int64_t keys, std::byte* k) {
    if (!in_place<T>(task, keys)) pack_k_fp32<T>(task, key, keys, reinterpret_cast<float*>(k));
  }
  static bool pack_v(const Task& task, int64_t key, int64_t keys, std::byte* v) {
    if (!in_place<T>(task, keys)) return pack_v_fp32<T>(task, key, keys, reinterpret_cast<float*>(v));
    return task.problem->mask == Mask::none ||
           finite_values<T>(task, key, keys);  // asked for where keys are hidden
  }
  static void absorb(const PanelStep& step) {
    if constexpr (HWY_ARCH_X86 && std::is_same_v<T, float>) {
      if (in_place<T>(*step.task, step.block_keys)) return absorb_fp32<true>(step);
    }
    absorb_fp32<false>(step);
  }

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
