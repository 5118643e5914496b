// SPDX-License-Identifier: MIT
// The tiled bf16 kernel for x86_64 cores that multiply pairs of bf16 (vdpbf16ps) but have no AMX tiles: Ops
// of tiled.h. One instruction adds to each of 16 fp32 sums a product of two pairs of bf16, so what is summed
// over (dims in S = Q K^T, keys in O += P V) is kept in pairs, and 16 query rows lie along the lanes:
//
//   Q   [16 rows][pair of dims]       16 pairs, one per row; two such panels side by side make 32 rows
//   K   [key][dim]                    as in memory, rows padded with zeros: a pair is broadcast to all lanes
//   S   [key][32 rows]                fp32: maximum and sum of a row are lane-wise
//   P   [pair of keys][32 rows]       pairs of bf16
//   V   [pair of keys][dim]           pairs: two keys of one dim, broadcast as K is
//   O   [dim][32 rows]                fp32
//
// Bound: vdpbf16ps, one or two a cycle; 16 sums hide its latency and eight broadcasts serve 16 products.
// With AVX-512 the vector functions are instructions, elsewhere plain loops (amx_vector-inl.h), so that the
// kernel is tested on any machine. l sums P before it is rounded to bf16.
#pragma once

#include "cpu/amx_vector-inl.h"
#include "cpu/large_scores.h"
#include "cpu/tiled.h"

namespace flashmoe::cpu::avx512_bf16 {
namespace {  // internal linkage: two source files may compile this with different instruction sets

using namespace amx;  // the vector vocabulary

constexpr int64_t kLanes = 16;
constexpr int64_t kPanelRows = 2 * kLanes;
constexpr int64_t kBlockKeys = 128;  // S and P of a block stay in the first-level cache
constexpr int64_t kTile = 8;         // keys of a tile of S, dims of a tile of O
constexpr float kSlack = 8;          // m is raised when a score is above it by more than this
constexpr float kInfinity = std::numeric_limits<float>::infinity();

#if FLASHMOE_AMX_VECTORS
inline Words load_pairs(const void* from) { return _mm512_load_si512(from); }
inline Words splat_pair(const void* from) {
  int32_t pair;
  std::memcpy(&pair, from, sizeof pair);
  return _mm512_set1_epi32(pair);
}
inline Floats add_products(Floats sum, Words a, Words b) {
  return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}
// Pairs of the lanes of two, rounded to bf16.
inline Words rounded_pairs(Floats first, Floats second) {
  const Words order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                                       22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, rounded(first, second));
}
#else
inline Words load_pairs(const void* from) {
  Words x;
  std::memcpy(x.at, from, sizeof x.at);
  return x;
}
inline Words splat_pair(const void* from) {
  Words x;
  for (int i = 0; i < 16; ++i) std::memcpy(x.at + 2 * i, from, 4);
  return x;
}
inline Floats add_products(Floats sum, const Words& a, const Words& b) {
  return lanewise([&](int i) {
    const auto product = [&](int word) { return to_float(bf16{a.at[word]}) * to_float(bf16{b.at[word]}); };
    return sum.at[i] + product(2 * i) + product(2 * i + 1);
  });
}
inline Words rounded_pairs(Floats first, Floats second) {
  const Words both = rounded(first, second);
  Words x;
  for (int i = 0; i < 32; ++i) x.at[i] = both.at[i / 2 + i % 2 * 16];
  return x;
}
#endif

inline int64_t k_stride(int64_t dim) { return round_up(dim, 2); }      // bf16
inline int64_t v_stride(int64_t dim) { return round_up(dim, kTile); }  // pairs

inline float* scores_of(const PanelStep& step) { return reinterpret_cast<float*>(step.weights); }
inline int64_t scores_bytes(int64_t keys) { return round_up(keys, kTile) * kPanelRows * 4; }
inline std::byte* pairs_of(const PanelStep& step) { return step.weights + scores_bytes(step.block_keys); }
constexpr int64_t kPairRow = kPanelRows * 4;  // bytes of P for one pair of keys

// sums[j][v] += the products of `steps` pairs: vectors `a` (kVecs of them, a_vec apart; the next pair a_step
// on) and broadcasts `b` (eight, b_each apart; the next pair b_step on). All distances in bytes.
template <int kVecs>
inline void multiply_tile(Floats (&sums)[kTile][kVecs], int64_t steps, const std::byte* a, int64_t a_vec,
                          int64_t a_step, const std::byte* b, int64_t b_each, int64_t b_step) {
  for (; steps > 0; --steps, a += a_step, b += b_step) {
    Words vecs[kVecs];
    for (int v = 0; v < kVecs; ++v) vecs[v] = load_pairs(a + v * a_vec);
#pragma GCC unroll 8
    for (int j = 0; j < kTile; ++j) {
      const Words pair = splat_pair(b + j * b_each);
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) sums[j][v] = add_products(sums[j][v], vecs[v], pair);
    }
  }
}

// The first key of the first tile that some row sees something of.
inline int64_t first_tile(const PanelStep& step) { return step.first_key / kTile * kTile; }

// Which keys of the block each row of the panel sees: [begin, end).
struct Limits {
  alignas(64) float begin[kPanelRows];
  alignas(64) float end[kPanelRows];

  explicit Limits(const PanelStep& step) {
    for (int64_t r = 0; r < kPanelRows; ++r) {
      const Range seen = step.seen_by(r);
      begin[r] = static_cast<float>(seen.begin);
      end[r] = static_cast<float>(seen.end);
    }
  }
};

// S of one tile of keys, and the largest scores so far. What a row does not see becomes -inf.
template <int kVecs>
void score_tile(const PanelStep& step, int64_t first_key, const Limits& limits, Floats* largest) {
  Floats sums[kTile][kVecs];
#pragma GCC unroll 8
  for (int j = 0; j < kTile; ++j)
    for (int v = 0; v < kVecs; ++v) sums[j][v] = splat(0.0F);
  const int64_t row_bytes = k_stride(step.dim) * 2;
  multiply_tile<kVecs>(sums, ceil_div(step.dim, 2), step.q, round_up(step.dim, 32) * 32, 64,
                       step.k + first_key * row_bytes, row_bytes, 4);
  const bool masked = step.cut(first_key, kTile);
#pragma GCC unroll 8
  for (int j = 0; j < kTile; ++j) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) {
      if (masked) {
        const Floats key = splat(static_cast<float>(first_key + j));
        const Lanes before_end = greater(load(limits.end + v * kLanes), key);
        const Lanes before_begin = greater(load(limits.begin + v * kLanes), key);
        const auto seen = static_cast<Lanes>(before_end & ~before_begin);
        sums[j][v] = choose(seen, sums[j][v], splat(-kInfinity));
      }
      largest[v] = max(largest[v], sums[j][v]);
      store(scores_of(step) + (first_key + j) * kPanelRows + v * kLanes, sums[j][v]);
    }
  }
}

// Raises m to the largest scores where they have grown well past it, and scales l and O to match.
inline void raise_shifts(const PanelStep& step, int64_t vec, Floats largest) {
  float* m = step.max + vec * kLanes;
  float* l = step.sum + vec * kLanes;
  const Floats highest = multiply(largest, splat(step.scale_log2e));
  const Floats before = load(m);
  const Lanes raised = greater(highest, add(before, splat(kSlack)));
  if (raised == 0) return;
  store(m, choose(raised, highest, before));
  const Lanes had_any = not_equal(load(l), splat(0.0F));
  if (had_any == 0) return;
  const Floats factor = choose(static_cast<Lanes>(raised & had_any),
                               exp2(add(before, multiply(highest, splat(-1.0F)))), splat(1.0F));
  store(l, multiply(load(l), factor));
  float* out = step.out + vec * kLanes;
  for (int64_t d = 0; d < round_up(step.dim, kTile); ++d, out += kPanelRows)
    store(out, multiply(load(out), factor));
}

// S becomes P for 16 rows; its sums are added to l.
inline void weigh(const PanelStep& step, int64_t vec) {
  float* m = step.max + vec * kLanes;
  const int64_t begin = first_tile(step);
  float* s = scores_of(step) + begin * kPanelRows + vec * kLanes;
  std::byte* p = pairs_of(step) + begin / 2 * kPairRow + vec * 64;
  const Floats before = load(m);
  const Floats shift = choose(not_equal(before, splat(-kInfinity)), before, splat(0.0F));
  const int64_t keys = round_up(step.keys - begin, 2);  // S of the last tile is there as a whole
  Floats scale = splat(step.scale_log2e);
  if (greater(shift, splat(kLargeScore)) != 0 || greater(splat(-kLargeScore), shift) != 0) {
    for (int64_t j = 0; j < keys; ++j) store(s + j * kPanelRows, multiply(load(s + j * kPanelRows), scale));
    scale = splat(1.0F);
  }
  Floats even = splat(0.0F);
  Floats odd = even;
  for (int64_t j = 0; j < keys; j += 2, s += 2 * kPanelRows, p += kPairRow) {
    const Floats first = exp2(multiply_subtract(load(s), scale, shift));
    const Floats second = exp2(multiply_subtract(load(s + kPanelRows), scale, shift));
    even = add(even, first);
    odd = add(odd, second);
    store_words(p, rounded_pairs(first, second));
  }
  float* l = step.sum + vec * kLanes;
  store(l, add(load(l), add(even, odd)));
}

// O of one tile of dims += P V.
template <int kVecs>
void add_weighted_tile(const PanelStep& step, int64_t d) {
  float* out = step.out + d * kPanelRows;
  Floats sums[kTile][kVecs];
#pragma GCC unroll 8
  for (int j = 0; j < kTile; ++j)
    for (int v = 0; v < kVecs; ++v) sums[j][v] = load(out + j * kPanelRows + v * kLanes);
  const int64_t begin = first_tile(step);
  const int64_t v_pair = v_stride(step.dim) * 4;
  multiply_tile<kVecs>(sums, ceil_div(step.keys - begin, 2), pairs_of(step) + begin / 2 * kPairRow, 64,
                       kPairRow, step.v + begin / 2 * v_pair + d * 4, 4, v_pair);
#pragma GCC unroll 8
  for (int j = 0; j < kTile; ++j)
    for (int v = 0; v < kVecs; ++v) store(out + j * kPanelRows + v * kLanes, sums[j][v]);
}

inline bf16 word_of(const std::byte* pairs, int64_t pair, int64_t word) {
  bf16 x;
  std::memcpy(&x, pairs + pair * 4 + word * 2, sizeof x);
  return x;
}

// O += P V where V holds infinity or NaN: keys that a row does not see must not be multiplied, not even by 0.
inline void add_weighted_plainly(const PanelStep& step) {
  for (int64_t r = 0; r < step.rows; ++r) {
    const Range seen = step.seen_by(r);
    for (int64_t key = seen.begin; key < seen.end; ++key) {
      const float weight = to_float(word_of(pairs_of(step), key / 2 * kPanelRows + r, key % 2));
      for (int64_t d = 0; d < step.dim; ++d) {
        const float value = to_float(word_of(step.v, key / 2 * v_stride(step.dim) + d, key % 2));
        step.out[d * kPanelRows + r] += weight * value;
      }
    }
  }
}

template <int kVecs>
void absorb_vecs(const PanelStep& step) {
  const Limits limits(step);
  const int64_t begin = first_tile(step);
  Floats largest[kVecs];
  for (Floats& x : largest) x = splat(-kInfinity);
  for (int64_t key = begin; key < step.keys; key += kTile) score_tile<kVecs>(step, key, limits, largest);
  for (int v = 0; v < kVecs; ++v) {
    raise_shifts(step, v, largest[v]);
    weigh(step, v);
  }
  if (!step.v_finite && step.cut(begin, round_up(step.keys - begin, 2))) return add_weighted_plainly(step);
  for (int64_t d = 0; d < step.dim; d += kTile) add_weighted_tile<kVecs>(step, d);
}

struct Ops {
  using Element = bf16;
  static int64_t panel_rows() { return kPanelRows; }
  static int64_t block_keys() { return kBlockKeys; }
  static int64_t q_panel_bytes(int64_t dim) { return 2 * round_up(dim, 32) * 32; }
  static int64_t k_block_bytes(int64_t dim, int64_t keys) {
    return round_up(keys, kTile) * k_stride(dim) * 2;
  }
  static int64_t v_block_bytes(int64_t dim, int64_t keys) { return ceil_div(keys, 2) * v_stride(dim) * 4; }
  static int64_t weights_bytes(int64_t keys) { return scores_bytes(keys) + ceil_div(keys, 2) * kPairRow; }
  static int64_t out_floats(int64_t dim) { return round_up(dim, kTile) * kPanelRows; }

  static void pack_q(const Task& task, int64_t row, int64_t rows, std::byte* to) {
    const int64_t dim = task.problem->head_dim;
    const int64_t group = task.problem->group();
    const bool negate = task.problem->scale < 0;  // the sign goes to Q, where it costs no rounding
    for (int64_t first = 0; first < kPanelRows; first += kLanes) {
      for (int64_t d = 0; d < dim; d += 32, to += 1024) {
        Words words[kLanes];
        for (int64_t i = 0; i < kLanes; ++i) {
          const int64_t r = row + first + i;
          words[i] = no_words();
          if (first + i >= rows) continue;
          words[i] = load_words(static_cast<const bf16*>(task.q) + r % group * task.q_head_stride +
                                    r / group * task.q_row_stride + d,
                                dim - d);
          if (negate) words[i] = flip_signs(words[i]);
        }
        store_transposed_pairs(words, to);
      }
    }
  }

  static void pack_k(const Task& task, int64_t key, int64_t keys, std::byte* k) {
    const int64_t dim = task.problem->head_dim;
    auto* to = reinterpret_cast<bf16*>(k);
    for (int64_t j = 0; j < round_up(keys, kTile); ++j, to += k_stride(dim)) {
      const bf16* from = static_cast<const bf16*>(task.k) + (key + j) * task.k_row_stride;
      const int64_t copied = j < keys ? dim : 0;
      std::copy_n(from, copied, to);
      std::fill(to + copied, to + k_stride(dim), bf16{0});
    }
  }

  static bool pack_v(const Task& task, int64_t key, int64_t keys, std::byte* v) {
    const int64_t dim = task.problem->head_dim;
    auto* to = reinterpret_cast<uint32_t*>(v);
    unsigned largest = 0;
    for (int64_t j = 0; j < keys; j += 2, to += v_stride(dim)) {
      const bf16* first = static_cast<const bf16*>(task.v) + (key + j) * task.v_row_stride;
      const bf16* second = j + 1 < keys ? first + task.v_row_stride : nullptr;
      for (int64_t d = 0; d < dim; ++d) {
        const unsigned low = first[d].bits;
        const unsigned high = second != nullptr ? second[d].bits : 0U;
        to[d] = low | high << 16;
        largest = std::max({largest, low & 0x7FFFU, high & 0x7FFFU});
      }
      std::fill(to + dim, to + v_stride(dim), 0U);
    }
    return largest < 0x7F80U;
  }

  static void absorb(const PanelStep& step) {
    PanelStep positive = step;
    // Never 0, which would turn the -inf of a hidden key into NaN.
    positive.scale_log2e = std::max(std::abs(step.scale_log2e), std::numeric_limits<float>::min());
    if (step.rows <= kLanes) return absorb_vecs<1>(positive);
    absorb_vecs<2>(positive);
  }

  static const float* out_row(const float* out, int64_t row, int64_t dim, float* buffer) {
    for (int64_t d = 0; d < dim; ++d) buffer[d] = out[d * kPanelRows + row];
    return buffer;
  }

  static void store(const float* from, float factor, int64_t dim, bf16* to) {
    int64_t d = 0;
    for (; d + 32 <= dim; d += 32) {
      alignas(64) bf16 words[32];
      store_words(words, rounded(multiply(load(from + d), splat(factor)),
                                 multiply(load(from + d + 16), splat(factor))));
      std::copy_n(words, 32, to + d);
    }
    for (; d < dim; ++d) to[d] = to_bf16(from[d] * factor);
  }
};

}  // namespace
}  // namespace flashmoe::cpu::avx512_bf16
