// SPDX-License-Identifier: MIT
// What the bf16 kernels for Arm share: panels, and the softmax on them. BFMMLA multiplies two rows of four
// bf16 by two rows of four and adds the 2 x 2 results to fp32 sums. Everything is kept in the shapes that
// this instruction wants:
//
//   Q, K   [step of 4 dims][pair of rows]                 four dims of one row, then four of the other
//   S      one register per pair of rows, pair of keys    [q0 k0, q0 k1, q1 k0, q1 k1]
//   P      [step of 4 keys][pair of rows]                 as Q: two neighbours of S zipped, rounded to bf16
//   V      [tile of 8 dims][step of 4 keys][pair of dims] four keys of one dim, then four of the other
//   O      [tile of 8 dims][pair of rows][pair of dims]   2 x 2 fp32, as S
//
// A panel meets a block in three passes: all of S, with the row maxima; P; then O += P V. The row shift m is
// a maximum, so that the weight of a row's only key is exactly 1; it is raised only when the maximum has
// grown well past it. l sums P before it is rounded to bf16.
#pragma once

#include "cpu/neon_bf16.h"

#ifdef FLASHMOE_NEON_BF16

#include <arm_neon.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "cpu/large_scores.h"
#include "cpu/tiled.h"

#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+bf16")

namespace flashmoe::cpu::neon_bf16 {

constexpr int kMaxPairs = 6;       // pairs of query rows in a panel
constexpr int kTile = 8;           // keys of a tile of S, dims of a tile of O
constexpr int64_t kMaxKeys = 512;  // of a block
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Adding this to x, |x| < 2^22, leaves 127 + the nearest whole number in the low bits: shifted left by 23
// they are 2^that. At -127 this gives 0.
constexpr float kRounder = 0x1.8p23F + 127;
constexpr float kUnderflow = -127;
constexpr float kSlack = 8;  // m is raised when the maximum is above it by more than this

// 2^r on [-1/2, 1/2] as 1 + r h(r), relative error 3e-6. h is written in -r.
constexpr float kExp2[4] = {-0.6931241750717163F, 0.24024099111557007F, -0.055906426161527634F,
                            0.009582852944731712F};

using Vec = float32x4_t;
using Half = bfloat16x8_t;

inline const bfloat16_t* as_bf16(const std::byte* p) { return reinterpret_cast<const bfloat16_t*>(p); }
inline bfloat16_t* as_bf16(std::byte* p) { return reinterpret_cast<bfloat16_t*>(p); }

constexpr int64_t kOutTile = kMaxPairs * 16;

// P of a panel and `keys` keys in bytes, and behind it S: floats for one pair of rows.
inline int64_t panel_weights(int64_t keys) { return round_up(keys, kTile) / 4 * kMaxPairs * 16; }
inline int64_t pair_scores(int64_t keys) { return round_up(keys, kTile) * 2; }

inline float* scores_of(const PanelStep& step) {
  return reinterpret_cast<float*>(step.weights + panel_weights(step.block_keys));
}

inline float weight_of(const PanelStep& step, int64_t row, int64_t key) {
  return to_float(reinterpret_cast<const bf16*>(
      step.weights)[key / 4 * kMaxPairs * 8 + row / 2 * 8 + row % 2 * 4 + key % 4]);
}

inline int64_t out_index(int64_t row, int64_t d) {
  return d / kTile * kOutTile + row / 2 * 16 + d % kTile / 2 * 4 + row % 2 * 2 + d % 2;
}

// Which keys of the block each row of the panel sees: [begin, end).
struct Limits {
  int32_t begin[2 * kMaxPairs];
  int32_t end[2 * kMaxPairs];

  explicit Limits(const PanelStep& step) {
    for (int64_t r = 0; r < 2 * kMaxPairs; ++r) {
      const Range seen = step.seen_by(r);
      begin[r] = static_cast<int32_t>(seen.begin);
      end[r] = static_cast<int32_t>(seen.end);
    }
  }
};

// The first key of the first tile that some row sees something of.
inline int64_t first_tile(const PanelStep& step) { return step.first_key / kTile * kTile; }

// kColumns pairs of keys; -inf where a row does not see them.
template <int kPairs, int kColumns>
void hide_unseen(Vec (&acc)[kPairs][kColumns], int64_t first_key, const Limits& limits) {
  for (int i = 0; i < kPairs; ++i) {
    const int32_t a = limits.begin[2 * i], b = limits.begin[2 * i + 1];
    const int32_t c = limits.end[2 * i], d = limits.end[2 * i + 1];
    const int32x4_t begin{a, a, b, b}, end{c, c, d, d};
    for (int j = 0; j < kColumns; ++j) {
      const int32_t key = static_cast<int32_t>(first_key) + 2 * j;
      const int32x4_t keys{key, key + 1, key, key + 1};
      const uint32x4_t seen = vandq_u32(vcgeq_s32(keys, begin), vcltq_s32(keys, end));
      acc[i][j] = vbslq_f32(seen, acc[i][j], vdupq_n_f32(-kInfinity));
    }
  }
}

// Stores S and keeps the largest scores of each row so far.
template <int kPairs, int kColumns>
inline void store_scores(const Vec (&acc)[kPairs][kColumns], float* scores, int64_t pair_stride,
                         Vec* largest) {
#pragma GCC unroll 6
  for (int i = 0; i < kPairs; ++i) {
    Vec most = vmaxq_f32(acc[i][0], acc[i][1]);
    if (kColumns == 4) most = vmaxq_f32(most, vmaxq_f32(acc[i][kColumns - 2], acc[i][kColumns - 1]));
    largest[i] = vmaxq_f32(largest[i], most);
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) vst1q_f32(scores + i * pair_stride + 4 * j, acc[i][j]);
  }
}

inline void store_weights(Vec left, Vec right, bfloat16_t* to) {
  const Vec row0 =
      vreinterpretq_f32_f64(vzip1q_f64(vreinterpretq_f64_f32(left), vreinterpretq_f64_f32(right)));
  const Vec row1 =
      vreinterpretq_f32_f64(vzip2q_f64(vreinterpretq_f64_f32(left), vreinterpretq_f64_f32(right)));
  vst1q_bf16(to, vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(row0), row1));
}

// Raises the shifts of a panel to its largest scores where they have grown well past them, and scales l and O
// to match. While a row has seen nothing but -inf its shift stays -inf.
inline void raise_shifts(const PanelStep& step, const Vec* largest, int pairs) {
  for (int i = 0; i < pairs; ++i) {
    const Vec most = vmaxq_f32(largest[i], vrev64q_f32(largest[i]));
    const Vec shift = vmulq_n_f32(most, step.scale_log2e);
    float* m = step.max + 2 * i;
    const Vec before{m[0], m[0], m[1], m[1]};
    // Written so that NaN is kept.
    const uint32x4_t keep = vcleq_f32(shift, vaddq_f32(before, vdupq_n_f32(kSlack)));
    if (vminvq_u32(keep) != 0) continue;
    const Vec after = vbslq_f32(keep, before, shift);
    m[0] = after[0];
    m[1] = after[2];
    for (int64_t r = 2 * i; r < 2 * i + 2; ++r) {
      const float factor = std::exp2(before[r % 2 * 2] - after[r % 2 * 2]);
      if (step.sum[r] == 0 || factor == 1) continue;
      step.sum[r] *= factor;
      for (int64_t d = 0; d < round_up(step.dim, kTile); ++d) step.out[out_index(r, d)] *= factor;
    }
  }
}

// A load that stays one: the constant that an FMA adds to is overwritten by it, and fetching a new copy costs
// less than moving one between registers.
inline Vec reload(const volatile Vec& constant) { return constant; }

// step(i) for every vector, unrolled.
template <int kVecs, class Step>
[[gnu::always_inline]] inline void each_vec(const Step& step) {
#pragma GCC unroll 8
  for (int i = 0; i < kVecs; ++i) step(i);
}

struct ExpConstants {
  Vec minus_shift;
  Vec h0, h1, h2;
  Vec lanes;  // scale, h3
};

inline ExpConstants exp_constants(float scale, Vec shift = vdupq_n_f32(0)) {
  return {.minus_shift = vnegq_f32(shift),
          .h0 = vdupq_n_f32(kExp2[0]),
          .h1 = vdupq_n_f32(kExp2[1]),
          .h2 = vdupq_n_f32(kExp2[2]),
          .lanes = Vec{scale, kExp2[3], 0, 0}};
}

// t becomes 2^t, for t < 127. Each stage goes over all vectors, so that none waits for its own result.
template <int kVecs>
[[gnu::always_inline]] inline void exponentiate(Vec (&t)[kVecs], const ExpConstants& constants) {
  const Vec lanes = constants.lanes;
  const Vec rounder = vdupq_n_f32(kRounder);
  Vec n[kVecs], r[kVecs], h[kVecs];
  each_vec<kVecs>([&](int i) { t[i] = vmaxq_f32(t[i], vdupq_n_f32(kUnderflow)); });
  each_vec<kVecs>([&](int i) { n[i] = vaddq_f32(t[i], rounder); });
  each_vec<kVecs>([&](int i) { r[i] = vsubq_f32(n[i], rounder); });
  each_vec<kVecs>([&](int i) { r[i] = vsubq_f32(r[i], t[i]); });
  each_vec<kVecs>([&](int i) { h[i] = vfmaq_laneq_f32(reload(constants.h2), r[i], lanes, 1); });
  each_vec<kVecs>([&](int i) { n[i] = vreinterpretq_f32_s32(vshlq_n_s32(vreinterpretq_s32_f32(n[i]), 23)); });
  each_vec<kVecs>([&](int i) { h[i] = vfmaq_f32(reload(constants.h1), h[i], r[i]); });
  each_vec<kVecs>([&](int i) { h[i] = vfmaq_f32(reload(constants.h0), h[i], r[i]); });
  each_vec<kVecs>([&](int i) { r[i] = vmulq_f32(r[i], n[i]); });
  each_vec<kVecs>([&](int i) { t[i] = vfmaq_f32(n[i], r[i], h[i]); });
}

// P of kTiles tiles and one pair of rows. kLarge: for large shifts.
template <int kTiles, bool kLarge>
inline Vec weigh_tiles(const float* scores, const ExpConstants& constants, bfloat16_t* weights) {
  constexpr int kVecs = 4 * kTiles;
  const Vec lanes = constants.lanes;
  Vec t[kVecs];
  each_vec<kVecs>([&](int i) { t[i] = vld1q_f32(scores + 4 * i); });
  if (kLarge) {
    each_vec<kVecs>([&](int i) { t[i] = vaddq_f32(vmulq_laneq_f32(t[i], lanes, 0), constants.minus_shift); });
  } else {
    each_vec<kVecs>([&](int i) { t[i] = vfmaq_laneq_f32(reload(constants.minus_shift), t[i], lanes, 0); });
  }
  exponentiate(t, constants);
#pragma GCC unroll 4
  for (int i = 0; i < kVecs; i += 2) store_weights(t[i], t[i + 1], weights + i / 2 * 8 * kMaxPairs);
  Vec sum = t[0];
#pragma GCC unroll 8
  for (int i = 1; i < kVecs; ++i) sum = vaddq_f32(sum, t[i]);
  return sum;
}

// P of one pair of rows; returns its sums.
template <bool kLarge>
Vec weigh_pair(const float* scores, int64_t tiles, float scale, Vec shift, bfloat16_t* weights) {
  const ExpConstants constants = exp_constants(scale, shift);
  Vec sum = vdupq_n_f32(0);
  for (; tiles >= 2; tiles -= 2, scores += 32, weights += 4 * 8 * kMaxPairs) {
    sum = vaddq_f32(sum, weigh_tiles<2, kLarge>(scores, constants, weights));
  }
  if (tiles > 0) sum = vaddq_f32(sum, weigh_tiles<1, kLarge>(scores, constants, weights));
  return sum;
}

// P of a panel and its sums.
inline void weigh(const PanelStep& step, int pairs) {
  const int64_t first = first_tile(step);
  const float* scores = scores_of(step) + first * 2;
  for (int i = 0; i < pairs; ++i, scores += pair_scores(step.block_keys)) {
    float* m = step.max + 2 * i;
    float* l = step.sum + 2 * i;
    const float shift0 = m[0] == -kInfinity ? 0 : m[0];
    const float shift1 = m[1] == -kInfinity ? 0 : m[1];
    const bool large = std::abs(shift0) > kLargeScore || std::abs(shift1) > kLargeScore;
    const Vec sum = (large ? weigh_pair<true>
                           : weigh_pair<false>)(scores, ceil_div(step.keys - first, kTile), step.scale_log2e,
                                                Vec{shift0, shift0, shift1, shift1},
                                                as_bf16(step.weights) + first / 4 * 8 * kMaxPairs + 8 * i);
    l[0] += sum[0] + sum[1];
    l[1] += sum[2] + sum[3];
  }
}

// A += the products of kPairs x 4 pairs of rows over `steps` steps.
template <int kPairs>
inline void multiply(Vec (&acc)[kPairs][4], const bfloat16_t* a, const bfloat16_t* b, int64_t steps) {
  for (int64_t s = 0; s < steps; ++s, a += 8 * kMaxPairs, b += 8 * 4) {
    Half rows[4];
    for (int j = 0; j < 4; ++j) rows[j] = vld1q_bf16(b + 8 * j);
    for (int i = 0; i < kPairs; ++i) {
      const Half row = vld1q_bf16(a + 8 * i);
      for (int j = 0; j < 4; ++j) acc[i][j] = vbfmmlaq_f32(acc[i][j], row, rows[j]);
    }
  }
}

// The sums of one tile of dims, as O, += weights, as P, times v.
template <int kPairs>
void add_weighted_tile(const bfloat16_t* weights, const bfloat16_t* v, int64_t steps, float* out) {
  Vec acc[kPairs][4];
  for (int i = 0; i < kPairs; ++i)
    for (int j = 0; j < 4; ++j) acc[i][j] = vld1q_f32(out + 16 * i + 4 * j);
  multiply<kPairs>(acc, weights, v, steps);
  for (int i = 0; i < kPairs; ++i)
    for (int j = 0; j < 4; ++j) vst1q_f32(out + 16 * i + 4 * j, acc[i][j]);
}

// Eight elements of a row from d on, zeros past its end; a null row is all zeros.
inline Half load_eight(const bfloat16_t* row, int64_t d, int64_t dim) {
  if (row != nullptr && d + 8 <= dim) return vld1q_bf16(row + d);
  bfloat16_t part[8] = {};
  if (row != nullptr && d < dim)
    std::memcpy(part, row + d, static_cast<std::size_t>(dim - d) * sizeof(bfloat16_t));
  return vld1q_bf16(part);
}

// Interleaves two rows by fours; `stride` elements from one step to the next. `sign` is flipped in every
// element.
inline void pack_pair(const bfloat16_t* row0, const bfloat16_t* row1, int64_t dim, uint16_t sign,
                      bfloat16_t* to, int64_t stride) {
  const uint64x2_t flip = vreinterpretq_u64_u16(vdupq_n_u16(sign));
  for (int64_t d = 0; d < dim; d += 8, to += 2 * stride) {
    const uint64x2_t a = veorq_u64(vreinterpretq_u64_bf16(load_eight(row0, d, dim)), flip);
    const uint64x2_t b = veorq_u64(vreinterpretq_u64_bf16(load_eight(row1, d, dim)), flip);
    vst1q_bf16(to, vreinterpretq_bf16_u64(vzip1q_u64(a, b)));
    if (d + 4 < dim) vst1q_bf16(to + stride, vreinterpretq_bf16_u64(vzip2q_u64(a, b)));
  }
}

// Transposes four rows into steps of four rows; `stride` elements from one tile of dims to the next.
// Returns the largest magnitudes, as bits.
inline uint16x8_t pack_four(const bfloat16_t* const* rows, int64_t dim, bfloat16_t* to, int64_t stride) {
  uint16x8_t largest = vdupq_n_u16(0);
  for (int64_t d = 0; d < dim; d += kTile, to += stride) {
    uint16x8_t x[4];
    for (int i = 0; i < 4; ++i) {
      x[i] = vreinterpretq_u16_bf16(load_eight(rows[i], d, dim));
      largest = vmaxq_u16(largest, vandq_u16(x[i], vdupq_n_u16(0x7FFF)));
    }
    const uint16x8x2_t even = vzipq_u16(x[0], x[2]);
    const uint16x8x2_t odd = vzipq_u16(x[1], x[3]);
    for (int half = 0; half < 2; ++half) {
      const uint16x8x2_t both = vzipq_u16(even.val[half], odd.val[half]);
      vst1q_bf16(to + 16 * half, vreinterpretq_bf16_u16(both.val[0]));
      vst1q_bf16(to + 16 * half + 8, vreinterpretq_bf16_u16(both.val[1]));
    }
  }
  return largest;
}

// The part of Ops (tiled.h) that does not depend on how K and V are read.
struct PanelOps {
  using Element = bf16;
  static int64_t panel_rows() { return 2 * kMaxPairs; }
  static int64_t q_panel_bytes(int64_t dim) { return ceil_div(dim, 4) * kMaxPairs * 16; }
  static int64_t weights_bytes(int64_t keys) {
    return panel_weights(keys) + kMaxPairs * pair_scores(keys) * 4;
  }
  static int64_t out_floats(int64_t dim) { return ceil_div(dim, kTile) * kOutTile; }

  static void pack_q(const Task& task, int64_t row, int64_t rows, std::byte* q) {
    const int64_t group = task.problem->group();
    const uint16_t sign = task.problem->scale < 0 ? 0x8000 : 0;
    for (int64_t pair = 0; pair < kMaxPairs; ++pair) {
      const bfloat16_t* from[2] = {nullptr, nullptr};
      for (int64_t i = 0; i < 2; ++i) {
        const int64_t r = row + 2 * pair + i;
        if (2 * pair + i < rows) {
          from[i] = static_cast<const bfloat16_t*>(task.q) + r % group * task.q_head_stride +
                    r / group * task.q_row_stride;
        }
      }
      pack_pair(from[0], from[1], task.problem->head_dim, sign, as_bf16(q) + 8 * pair, 8 * kMaxPairs);
    }
  }

  // The step with a scale of the sign that pack_q left. Never 0, which would turn the -inf of a hidden key
  // into NaN.
  static PanelStep with_positive_scale(PanelStep step) {
    step.scale_log2e = std::max(std::abs(step.scale_log2e), std::numeric_limits<float>::min());
    return step;
  }

  static const float* out_row(const float* out, int64_t row, int64_t dim, float* buffer) {
    out += out_index(row, 0);
    for (int64_t d = 0; d < dim; d += kTile, out += kOutTile) {
      for (int64_t i = 0; i < kTile; i += 4) {
        vst1q_f32(buffer + d + i, vcombine_f32(vld1_f32(out + 2 * i), vld1_f32(out + 2 * i + 4)));
      }
    }
    return buffer;
  }

  static void store(const float* from, float factor, int64_t dim, bf16* to) {
    int64_t d = 0;
    for (; d + 4 <= dim; d += 4) {
      vst1_bf16(reinterpret_cast<bfloat16_t*>(to) + d,
                vcvt_bf16_f32(vmulq_n_f32(vld1q_f32(from + d), factor)));
    }
    for (; d < dim; ++d) to[d] = to_bf16(from[d] * factor);
  }
};

}  // namespace flashmoe::cpu::neon_bf16

#pragma GCC pop_options
#endif
