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
#include <utility>

#include "cpu/arena.h"
#include "cpu/convert-inl.h"
#include "cpu/dropout-inl.h"
#include "cpu/exp2-inl.h"
#include "cpu/outer_product-inl.h"
#include "cpu/pack_fp32-inl.h"
#include "cpu/panel_product-inl.h"
#include "cpu/scores-inl.h"
#include "cpu/task.h"
#include "cpu/tiled.h"
#include "cpu/vector_pack-inl.h"

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

// Raises two vectors of row maxima to those of a tile, whose rows are two vectors each.
template <std::size_t... i, class... V>
HWY_INLINE void raise_max(std::index_sequence<i...>, Vector& max0, Vector& max1, const V&... c) {
  (((i % 2 == 0 ? max0 : max1) = hn::Max(i % 2 == 0 ? max0 : max1, c)), ...);
}

// Scores of a tile become -inf where a row does not see the key, or it lies past the end. A function of its
// own: the tiles that need it are few, and what it computes with would take registers from the product.
HWY_NOINLINE void hide_unseen(const PanelStep& step, int64_t key, float* HWY_RESTRICT s) {
  const Tag d;
  const hn::RebindToSigned<Tag> di;
  const int64_t n = lanes();
  const auto whole = hn::Set(di, static_cast<int32_t>(step.keys));
  const bool per_row = step.cut();
  const auto begin0 = per_row ? hn::LoadU(di, step.begins) : hn::Zero(di);
  const auto begin1 = per_row ? hn::LoadU(di, step.begins + n) : hn::Zero(di);
  const auto limit0 = per_row ? hn::LoadU(di, step.limits) : whole;
  const auto limit1 = per_row ? hn::LoadU(di, step.limits + n) : whole;
  const auto hidden = hn::Set(d, -kInfinity);
  for (int r = 0; r < kTileRows; ++r, s += 2 * n) {
    const auto index = hn::Set(di, static_cast<int32_t>(key + r));
    const auto seen0 = hn::AndNot(hn::Lt(index, begin0), hn::Lt(index, limit0));
    const auto seen1 = hn::AndNot(hn::Lt(index, begin1), hn::Lt(index, limit1));
    hn::Store(hn::IfThenElse(hn::RebindMask(d, seen0), hn::Load(d, s), hidden), d, s);
    hn::Store(hn::IfThenElse(hn::RebindMask(d, seen1), hn::Load(d, s + n), hidden), d, s + n);
  }
}

// S^T of one panel and one tile of keys, to s; raises the row maxima.
template <bool kInPlace>
struct ScoreTile {
  const PanelStep& step;
  const float* q;
  const float* k;  // of the tile
  int64_t k_stride;
  int64_t key;  // its first
  float* HWY_RESTRICT s;
  const PanelScores* changes;  // null: scores stay as they are
  Vector& max0;
  Vector& max1;

  template <class... V>
  HWY_INLINE void operator()(V&... c) const {
    constexpr std::index_sequence_for<V...> kEach;
    const Tag d;
    const int64_t n = lanes();
    outer_product<Layout{.packed_a = !kInPlace, .packed_b = true}>(k, k_stride, q, 0, step.dim, c...);
    store_rows<2>(kEach, s, 2 * n, c...);
    const bool cut = step.cut(key, kTileRows);
    if (!cut && changes == nullptr) return raise_max(kEach, max0, max1, c...);
    if (changes != nullptr) changes->change(key, kTileRows, s);
    if (cut) hide_unseen(step, key, s);
    for (const float* row = s; row < s + 2 * n * kTileRows; row += 2 * n) {
      max0 = hn::Max(max0, hn::Load(d, row));
      max1 = hn::Max(max1, hn::Load(d, row + n));
    }
  }
};

// The first key of the first tile that some row sees something of.
inline int64_t first_tile(const PanelStep& step) { return step.first_key / kTileRows * kTileRows; }

// S^T of one panel and its keys, to s, key by key from the first of the block on; raises the row maxima.
template <bool kInPlace>
HWY_NOINLINE void multiply_scores(const PanelStep& step, const PanelScores* changes, float* HWY_RESTRICT s) {
  const Tag d;
  const int64_t n = lanes();
  auto max0 = hn::Load(d, step.max);
  auto max1 = hn::Load(d, step.max + n);
  const auto* q = reinterpret_cast<const float*>(step.q);
  const Block<kInPlace> block(step);
  const int64_t first = first_tile(step);
  const float* k = block.k + first / kTileRows * block.k_tile;
  s += 2 * n * first;
  for (int64_t key = first; key < step.keys; key += kTileRows, k += block.k_tile, s += 2 * n * kTileRows) {
    with_vectors<2 * kTileRows>(ScoreTile<kInPlace>{step, q, k, block.k_stride, key, s, changes, max0, max1});
  }
  hn::Store(max0, d, step.max);
  hn::Store(max1, d, step.max + n);
}

// Some keys of s become exp2(s - base) in place, and their sums are added to two vectors. Several chains at
// once: the compiler interleaves them better than the core does.
struct ExponentiateKeys {
  float* HWY_RESTRICT s;
  const Vector& base0;
  const Vector& base1;
  Vector& sum0;
  Vector& sum1;

  template <class... V>
  HWY_INLINE void operator()(V&... p) const {
    const std::index_sequence_for<V...> each;
    exponentiate(each, p...);
    store_rows<2>(each, s, 2 * lanes(), p...);
    add(each, p...);
  }

 private:
  template <std::size_t... i, class... V>
  HWY_INLINE void exponentiate(std::index_sequence<i...>, V&... p) const {
    ((p = exp2_bounded(
          hn::Sub(hn::Load(Tag(), s + static_cast<int64_t>(i) * lanes()), i % 2 == 0 ? base0 : base1))),
     ...);
  }
  template <std::size_t... i, class... V>
  HWY_INLINE void add(std::index_sequence<i...>, const V&... p) const {
    (((i % 2 == 0 ? sum0 : sum1) = hn::Add(i % 2 == 0 ? sum0 : sum1, p)), ...);
  }
};

// s becomes exp2(s - base) in place, and `sums` the row sums. A function of its own, so that the constants of
// exp2 have all registers to themselves.
HWY_NOINLINE void exponentiate(float* HWY_RESTRICT s, int64_t keys, const float* base, float* sums) {
  const Tag d;
  const int64_t n = lanes();
  const auto base0 = hn::Load(d, base);
  const auto base1 = hn::Load(d, base + n);
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  int64_t key = 0;
#if FLASHMOE_HAVE_32_REGISTERS
  for (; key + 4 <= keys; key += 4, s += 8 * n)
    with_vectors<8>(ExponentiateKeys{s, base0, base1, sum0, sum1});
#endif
  for (; key < keys; ++key, s += 2 * n) with_vectors<2>(ExponentiateKeys{s, base0, base1, sum0, sum1});
  hn::Store(sum0, d, sums);
  hn::Store(sum1, d, sums + n);
}

// O += P V over the keys [begin, end).
template <bool kInPlace>
void weigh_values(const PanelStep& step, const float* p, int64_t begin, int64_t end) {
  const Block<kInPlace> block(step);
  multiply_panel<Tile::add, !kInPlace>({.a = p + begin * 2 * lanes(),
                                        .a_step = 2 * lanes(),
                                        .b = block.v + begin * block.v_key,
                                        .b_step = block.v_key,
                                        .b_column = block.v_column,
                                        .n = end - begin,
                                        .c = step.out,
                                        .c_row = padded_dim(step.dim),
                                        .c_column = 2 * lanes(),
                                        .column_pairs = padded_dim(step.dim) / (2 * lanes())});
}

// The keys that only some rows see, row by row: for values that are not finite, where a weight of 0 does
// harm.
template <bool kInPlace>
inline void weigh_values_seen(const PanelStep& step, const float* p) {
  const int64_t n = lanes();
  const int64_t stride = padded_dim(step.dim);
  const Block<kInPlace> block(step);
  for (int64_t r = 0; r < 2 * n; ++r) {
    each_key_outside(step.seen_by(r), {step.full_begin, step.full_end}, [&](int64_t key) {
      for (int64_t column = 0; column < step.dim; ++column) {
        const int64_t at = column / (2 * n) * block.v_column + key * block.v_key + column % (2 * n);
        step.out[r * stride + column] += p[key * 2 * n + r] * block.v[at];
      }
    });
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
  if (step.task->problem->changes_scores()) {
    const PanelScores changes(*step.task, step.row, step.rows, step.key);
    multiply_scores<kInPlace>(step, &changes, s);
  } else {
    multiply_scores<kInPlace>(step, nullptr, s);
  }
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
  const int64_t first = first_tile(step);
  exponentiate(s + 2 * n * first, step.keys - first, base, sums);
  for (int64_t i = 0; i < 2 * n; i += n) {
    auto total = hn::Load(d, step.sum + i);
    if (rose) total = hn::Mul(total, hn::Load(d, factors + i));
    hn::Store(hn::Add(total, hn::Load(d, sums + i)), d, step.sum + i);
  }
  if (step.task->problem->dropout.p > 0) {
    const RowDropout dropout(*step.task->problem, step.task->scores);
    drop_panel(dropout, step.row, step.rows, step.key + first, step.key + step.keys, s + 2 * n * first);
  }

  if (step.v_finite || !step.cut()) {
    weigh_values<kInPlace>(step, s, first, step.keys);
  } else {
    weigh_values<kInPlace>(step, s, step.full_begin, step.full_end);
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
    const ForwardProblem& p = *task.problem;
    const PackedRows<const T> all{static_cast<const T*>(task.q), task.q_head_stride, task.q_row_stride,
                                  p.group()};
    pack_transposed(all, row, rows, p.head_dim, p.scale * kLog2E, reinterpret_cast<float*>(q));
  }
  static void pack_k(const Task& task, int64_t key, int64_t keys, std::byte* k) {
    if (!in_place<T>(task, keys)) pack_k_fp32<T>(task, key, keys, reinterpret_cast<float*>(k));
  }
  static bool pack_v(const Task& task, int64_t key, int64_t keys, std::byte* v) {
    if (!in_place<T>(task, keys)) {
      const PackedRows<const T> all{static_cast<const T*>(task.v), 0, task.v_row_stride, 1};
      return pack_columns(all, key, keys, task.problem->head_dim, reinterpret_cast<float*>(v));
    }
    return task.problem->sees_all() || finite_values<T>(task, key, keys);  // asked for where keys are hidden
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
