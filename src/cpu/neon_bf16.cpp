// SPDX-License-Identifier: MIT
// neon_bf16: attention through BFMMLA, which multiplies two rows of four bf16 by two rows of four and adds
// the 2 x 2 results to fp32 sums. Everything is kept in the shapes that this instruction wants:
//
//   Q, K   [step of 4 dims][pair of rows]                 four dims of one row, then four of the other
//   S      one register per pair of rows, pair of keys    [q0 k0, q0 k1, q1 k0, q1 k1]
//   P      [step of 4 keys][pair of rows]                 as Q: two neighbours of S zipped, rounded to bf16
//   V      [tile of 8 dims][step of 4 keys][pair of dims] four keys of one dim, then four of the other
//   O      [tile of 8 dims][pair of rows][pair of dims]   2 x 2 fp32, as S
//
// S never leaves the registers. Its exponential is taken with a shift m that is known beforehand: the maximum
// of the tile which the row saw first. Only when a block holds a score far above m, is m raised and the block
// done again. m is a whole number, so that this scales l and O by an exact power of two. l sums P before it
// is rounded to bf16.
#include "cpu/neon_bf16.h"

#ifdef FLASHMOE_NEON_BF16

#include <arm_neon.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "cpu/tiled.h"

#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+bf16")

namespace flashmoe::cpu {
namespace {

constexpr int kMaxPairs = 6;         // pairs of query rows in a panel
constexpr int kTile = 8;             // keys of a tile of S, dims of a tile of O
constexpr int64_t kBlockKeys = 256;  // K and V of a block stay in the second-level cache
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Adding this to x, |x| < 2^22, leaves 127 + the nearest whole number in the low bits: shifted left by 23
// they are 2^that. At -127 this gives 0.
constexpr float kRounder = 0x1.8p23F + 127;
constexpr float kUnderflow = -127;
constexpr float kSlack = 8;             // m is raised when a score is above it by more than this
constexpr float kExactShift = 0x1p21F;  // shifts below this are exact when subtracted from kRounder

// 2^r on [-1/2, 1/2] as 1 + r h(r), relative error 3e-6. The polynomial is written in -r.
constexpr float kExp2[4] = {-0.6931241750717163F, 0.24024099111557007F, -0.055906426161527634F,
                            0.009582852944731712F};

using Vec = float32x4_t;
using Half = bfloat16x8_t;

// What a panel knows of a pair of rows while it meets a block; each value twice, in the places it has in S.
struct PairState {
  Vec shift;      // m; -inf while the row has seen no key
  Vec rounder;    // kRounder - m
  Vec underflow;  // the score at which exp2(score - m) becomes 0
  Vec largest;    // score of this block, not yet scaled
  Vec sum;        // of P in this block
  int32x4_t limit;
};

const bfloat16_t* as_bf16(const std::byte* p) { return reinterpret_cast<const bfloat16_t*>(p); }
bfloat16_t* as_bf16(std::byte* p) { return reinterpret_cast<bfloat16_t*>(p); }

// [a0, a1, b0, b1] -> [max a, max a, max b, max b]
Vec pair_max(Vec x) { return vmaxq_f32(x, vrev64q_f32(x)); }

// 2^n (1 + r h(r)) where the low bits of `rounded` are n + 127 and `minus_r` is -r.
inline Vec exp2_of(Vec rounded, Vec minus_r) {
  const Vec power = vreinterpretq_f32_s32(vshlq_n_s32(vreinterpretq_s32_f32(rounded), 23));
  const Vec square = vmulq_f32(minus_r, minus_r);
  const Vec low = vfmaq_f32(vdupq_n_f32(kExp2[0]), minus_r, vdupq_n_f32(kExp2[1]));
  const Vec high = vfmaq_f32(vdupq_n_f32(kExp2[2]), minus_r, vdupq_n_f32(kExp2[3]));
  const Vec h = vfmaq_f32(low, high, square);
  return vfmaq_f32(power, vmulq_f32(power, minus_r), h);
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

inline void store_weights(Vec left, Vec right, bfloat16_t* to) {
  const Vec row0 =
      vreinterpretq_f32_f64(vzip1q_f64(vreinterpretq_f64_f32(left), vreinterpretq_f64_f32(right)));
  const Vec row1 =
      vreinterpretq_f32_f64(vzip2q_f64(vreinterpretq_f64_f32(left), vreinterpretq_f64_f32(right)));
  vst1q_bf16(to, vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(row0), row1));
}

// P of one tile of keys that all rows see, of rows that have a shift.
template <int kPairs>
void weigh_tile(const PanelStep& step, const bfloat16_t* k, int64_t steps, PairState* state,
                bfloat16_t* weights) {
  Vec acc[kPairs][4] = {};
  multiply<kPairs>(acc, as_bf16(step.q), k, steps);
  const Vec scale = vdupq_n_f32(step.scale_log2e);
  for (int i = 0; i < kPairs; ++i) {
    PairState& pair = state[i];
    Vec p[4];
    for (int j = 0; j < 4; ++j) {
      const Vec score = vmaxq_f32(acc[i][j], pair.underflow);
      const Vec rounded = vfmaq_f32(pair.rounder, score, scale);
      const Vec minus_r = vfmsq_f32(vsubq_f32(rounded, pair.rounder), score, scale);
      p[j] = exp2_of(rounded, minus_r);
    }
    pair.largest =
        vmaxq_f32(pair.largest, vmaxq_f32(vmaxq_f32(acc[i][0], acc[i][1]), vmaxq_f32(acc[i][2], acc[i][3])));
    pair.sum = vaddq_f32(pair.sum, vaddq_f32(vaddq_f32(p[0], p[1]), vaddq_f32(p[2], p[3])));
    store_weights(p[0], p[1], weights + 8 * i);
    store_weights(p[2], p[3], weights + 8 * (kMaxPairs + i));
  }
}

// The same for any tile: keys past a row's limit weigh 0, a row without a shift gets one, and shifts may be
// huge.
template <int kPairs>
void weigh_tile_carefully(const PanelStep& step, const bfloat16_t* k, int64_t steps, int64_t first_key,
                          PairState* state, bfloat16_t* weights) {
  Vec acc[kPairs][4] = {};
  multiply<kPairs>(acc, as_bf16(step.q), k, steps);
  const Vec scale = vdupq_n_f32(step.scale_log2e);
  const Vec rounder = vdupq_n_f32(kRounder);
  const Vec nothing = vdupq_n_f32(-kInfinity);
  for (int i = 0; i < kPairs; ++i) {
    PairState& pair = state[i];
    Vec largest = nothing;
    for (int j = 0; j < 4; ++j) {
      const int32_t offsets[4] = {2 * j, 2 * j + 1, 2 * j, 2 * j + 1};
      const int32x4_t key = vaddq_s32(vdupq_n_s32(static_cast<int32_t>(first_key)), vld1q_s32(offsets));
      acc[i][j] = vbslq_f32(vcltq_s32(key, pair.limit), acc[i][j], nothing);
      largest = vmaxq_f32(largest, acc[i][j]);
    }
    pair.largest = vmaxq_f32(pair.largest, largest);
    // Scaled only where it is finite: a scale of 0 must not make NaN of "nothing".
    largest = pair_max(largest);
    const Vec tile_shift =
        vbslq_f32(vceqq_f32(largest, nothing), nothing, vrndpq_f32(vmulq_f32(largest, scale)));
    pair.shift = vbslq_f32(vceqq_f32(pair.shift, nothing), tile_shift, pair.shift);
    const Vec shift = vbslq_f32(vceqq_f32(pair.shift, nothing), vdupq_n_f32(0), pair.shift);
    Vec p[4];
    for (int j = 0; j < 4; ++j) {
      const uint32x4_t unseen = vceqq_f32(acc[i][j], nothing);
      // Not fused: the largest score must give its own shift again, however coarse fp32 is there.
      const Vec score = vmaxq_f32(vsubq_f32(vmulq_f32(acc[i][j], scale), shift), vdupq_n_f32(kUnderflow));
      const Vec rounded = vaddq_f32(score, rounder);
      const Vec minus_r = vsubq_f32(vsubq_f32(rounded, rounder), score);
      p[j] = vbslq_f32(unseen, vdupq_n_f32(0), exp2_of(rounded, minus_r));
      pair.sum = vaddq_f32(pair.sum, p[j]);
    }
    store_weights(p[0], p[1], weights + 8 * i);
    store_weights(p[2], p[3], weights + 8 * (kMaxPairs + i));
  }
}

// O of one tile of dims += P V.
template <int kPairs>
void add_weighted_tile(const bfloat16_t* weights, const bfloat16_t* v, int64_t steps, float* out) {
  Vec acc[kPairs][4];
  for (int i = 0; i < kPairs; ++i)
    for (int j = 0; j < 4; ++j) acc[i][j] = vld1q_f32(out + 16 * i + 4 * j);
  multiply<kPairs>(acc, weights, v, steps);
  for (int i = 0; i < kPairs; ++i)
    for (int j = 0; j < 4; ++j) vst1q_f32(out + 16 * i + 4 * j, acc[i][j]);
}

// Fills in what follows from the shifts. False if some row has none yet, or one too large for weigh_tile.
bool prepare(PairState* state, int pairs, float scale) {
  uint32x4_t good = vdupq_n_u32(~0U);
  for (int i = 0; i < pairs; ++i) {
    PairState& pair = state[i];
    good = vandq_u32(good, vcltq_f32(vabsq_f32(pair.shift), vdupq_n_f32(kExactShift)));
    pair.rounder = vsubq_f32(vdupq_n_f32(kRounder), pair.shift);
    pair.underflow = vdivq_f32(vaddq_f32(pair.shift, vdupq_n_f32(kUnderflow)), vdupq_n_f32(scale));
  }
  return vminvq_u32(good) != 0;
}

Vec each_twice(const float* rows) {
  const float32x2_t two = vld1_f32(rows);
  return vcombine_f32(vdup_lane_f32(two, 0), vdup_lane_f32(two, 1));
}

void load(const PanelStep& step, PairState* state, int pairs) {
  for (int i = 0; i < pairs; ++i) {
    state[i].shift = each_twice(step.max + 2 * i);
    state[i].largest = vdupq_n_f32(-kInfinity);
    state[i].sum = vdupq_n_f32(0);
    state[i].limit = vdupq_n_s32(static_cast<int32_t>(step.keys));
    if (step.full_keys < step.keys) {
      const int32x2_t two = vld1_s32(step.limits + 2 * i);
      state[i].limit = vcombine_s32(vdup_lane_s32(two, 0), vdup_lane_s32(two, 1));
    }
  }
}

void store(const PanelStep& step, const PairState* state, int pairs) {
  for (int i = 0; i < pairs; ++i) {
    step.max[2 * i] = vgetq_lane_f32(state[i].shift, 0);
    step.max[2 * i + 1] = vgetq_lane_f32(state[i].shift, 2);
    step.sum[2 * i] += vgetq_lane_f32(state[i].sum, 0) + vgetq_lane_f32(state[i].sum, 1);
    step.sum[2 * i + 1] += vgetq_lane_f32(state[i].sum, 2) + vgetq_lane_f32(state[i].sum, 3);
  }
}

// Where the elements of V and O lie.
constexpr int64_t kOutTile = kMaxPairs * 16;
int64_t v_tile_size(int64_t keys) { return round_up(keys, 4) * kTile; }
int64_t v_index(int64_t key, int64_t d, int64_t keys) {
  return d / kTile * v_tile_size(keys) + key / 4 * 32 + d % kTile * 4 + key % 4;
}
int64_t out_index(int64_t row, int64_t d) {
  return d / kTile * kOutTile + row / 2 * 16 + d % kTile / 2 * 4 + row % 2 * 2 + d % 2;
}

// After a block: where a score is above m by more than kSlack, raises m to it and scales l and O to match.
// True if that happened: the block's weights are of no use then.
bool raise_shifts(const PanelStep& step, PairState* state, int pairs) {
  const Vec scale = vdupq_n_f32(step.scale_log2e);
  uint32x4_t any = vdupq_n_u32(0);
  for (int i = 0; i < pairs; ++i) {
    any = vorrq_u32(
        any, vcgtq_f32(vmulq_f32(state[i].largest, scale), vaddq_f32(state[i].shift, vdupq_n_f32(kSlack))));
  }
  if (vmaxvq_u32(any) == 0) return false;
  for (int64_t r = 0; r < 2 * pairs; ++r) {
    PairState& pair = state[r / 2];
    float largest[4], shift[4];
    vst1q_f32(largest, pair_max(pair.largest));
    vst1q_f32(shift, pair.shift);
    const int64_t lane = r % 2 * 2;
    const float raised = std::ceil(largest[lane] * step.scale_log2e);
    if (!(raised > shift[lane] + kSlack)) continue;
    const float factor = std::exp2(shift[lane] - raised);
    shift[lane] = shift[lane + 1] = raised;
    pair.shift = vld1q_f32(shift);
    step.sum[r] *= factor;
    for (int64_t d = 0; d < round_up(step.dim, kTile); ++d) step.out[out_index(r, d)] *= factor;
  }
  for (int i = 0; i < pairs; ++i) state[i].sum = vdupq_n_f32(0);
  return true;
}

// O += P V where V holds infinity or NaN: keys that a row does not see must not be multiplied, not even by 0.
void add_weighted_plainly(const PanelStep& step) {
  const auto* weights = reinterpret_cast<const bf16*>(step.weights);
  const auto* v = reinterpret_cast<const bf16*>(step.v);
  for (int64_t r = 0; r < 2 * kMaxPairs; ++r) {
    const int64_t keys = step.full_keys < step.keys ? step.limits[r] : step.keys;
    for (int64_t key = 0; key < keys; ++key) {
      const float weight = to_float(weights[key / 4 * kMaxPairs * 8 + r / 2 * 8 + r % 2 * 4 + key % 4]);
      for (int64_t d = 0; d < step.dim; ++d) {
        step.out[out_index(r, d)] += weight * to_float(v[v_index(key, d, step.block_keys)]);
      }
    }
  }
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
void pack_pair(const bfloat16_t* row0, const bfloat16_t* row1, int64_t dim, uint16_t sign, bfloat16_t* to,
               int64_t stride) {
  const uint64x2_t flip = vreinterpretq_u64_u16(vdupq_n_u16(sign));
  for (int64_t d = 0; d < dim; d += 8, to += 2 * stride) {
    const uint64x2_t a = veorq_u64(vreinterpretq_u64_bf16(load_eight(row0, d, dim)), flip);
    const uint64x2_t b = veorq_u64(vreinterpretq_u64_bf16(load_eight(row1, d, dim)), flip);
    vst1q_bf16(to, vreinterpretq_bf16_u64(vzip1q_u64(a, b)));
    if (d + 4 < dim) vst1q_bf16(to + stride, vreinterpretq_bf16_u64(vzip2q_u64(a, b)));
  }
}

// Transposes four rows into steps of four keys; `stride` elements from one tile of dims to the next.
// Returns the largest magnitudes, as bits.
uint16x8_t pack_four(const bfloat16_t* const* rows, int64_t dim, bfloat16_t* to, int64_t stride) {
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

template <int kPairs>
void weigh(const PanelStep& step, PairState* state, bool careful) {
  const int64_t steps = ceil_div(step.dim, 4);
  const bfloat16_t* k = as_bf16(step.k);
  bfloat16_t* weights = as_bf16(step.weights);
  for (int64_t key = 0; key < step.keys; key += kTile, k += 8 * 4 * steps, weights += 8 * 2 * kMaxPairs) {
    if (careful || key + kTile > step.full_keys) {
      weigh_tile_carefully<kPairs>(step, k, steps, key, state, weights);
      careful = !prepare(state, kPairs, step.scale_log2e);
    } else {
      weigh_tile<kPairs>(step, k, steps, state, weights);
    }
  }
}

template <int kPairs>
void absorb(const PanelStep& step) {
  PairState state[kPairs];
  load(step, state, kPairs);
  bool plain = prepare(state, kPairs, step.scale_log2e);
  weigh<kPairs>(step, state, !plain);
  if (raise_shifts(step, state, kPairs)) {
    plain = prepare(state, kPairs, step.scale_log2e);
    weigh<kPairs>(step, state, !plain);
  }
  store(step, state, kPairs);
  const int64_t steps = ceil_div(step.keys, 4);
  if (!step.v_finite && 4 * steps > step.full_keys) return add_weighted_plainly(step);
  const int64_t tiles = ceil_div(step.dim, kTile);
  for (int64_t t = 0; t < tiles; ++t) {
    add_weighted_tile<kPairs>(as_bf16(step.weights), as_bf16(step.v) + t * v_tile_size(step.block_keys),
                              steps, step.out + t * kOutTile);
  }
}

struct Ops {
  using Element = bf16;
  static int64_t panel_rows() { return 2 * kMaxPairs; }
  static int64_t block_keys() { return kBlockKeys; }
  static int64_t q_panel_bytes(int64_t dim) { return ceil_div(dim, 4) * kMaxPairs * 16; }
  static int64_t k_block_bytes(int64_t dim) { return ceil_div(dim, 4) * 4 * (kBlockKeys / 2) * 4; }
  static int64_t v_block_bytes(int64_t dim) { return ceil_div(dim, kTile) * v_tile_size(kBlockKeys) * 2; }
  static int64_t weights_bytes() { return kBlockKeys / 4 * kMaxPairs * 16; }
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

  static void pack_k(const Task& task, int64_t key, int64_t keys, std::byte* k) {
    const int64_t steps = ceil_div(task.problem->head_dim, 4);
    const auto* from = static_cast<const bfloat16_t*>(task.k) + key * task.k_row_stride;
    for (int64_t j = 0; j < round_up(keys, kTile); j += 2) {
      const bfloat16_t* row0 = j < keys ? from + j * task.k_row_stride : nullptr;
      const bfloat16_t* row1 = j + 1 < keys ? from + (j + 1) * task.k_row_stride : nullptr;
      bfloat16_t* to = as_bf16(k) + j / kTile * steps * 32 + j % kTile / 2 * 8;
      pack_pair(row0, row1, task.problem->head_dim, 0, to, 32);
    }
  }

  static bool pack_v(const Task& task, int64_t key, int64_t keys, std::byte* v) {
    const auto* from = static_cast<const bfloat16_t*>(task.v) + key * task.v_row_stride;
    uint16x8_t largest = vdupq_n_u16(0);
    for (int64_t j = 0; j < round_up(keys, 4); j += 4) {
      const bfloat16_t* rows[4];
      for (int64_t i = 0; i < 4; ++i) rows[i] = j + i < keys ? from + (j + i) * task.v_row_stride : nullptr;
      const uint16x8_t seen = pack_four(rows, task.problem->head_dim, as_bf16(v) + 8 * j, v_tile_size(keys));
      largest = vmaxq_u16(largest, seen);
    }
    return vmaxvq_u16(largest) < 0x7F80;
  }

  static void absorb(const PanelStep& step) {
    PanelStep positive = step;
    positive.scale_log2e = std::abs(step.scale_log2e);  // pack_q took the sign
    cpu::absorb<kMaxPairs>(positive);
  }

  static const float* out_row(const float* out, int64_t row, int64_t dim, float* buffer) {
    for (int64_t d = 0; d < dim; d += 2) std::memcpy(buffer + d, out + out_index(row, d), 2 * sizeof(float));
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

}  // namespace

bool neon_bf16_supported() {
  constexpr unsigned long kBf16 = 1UL << 14;  // HWCAP2_BF16, which older headers lack
  return (getauxval(AT_HWCAP2) & kBf16) != 0;
}

const Kernel& neon_bf16_kernel() {
  static constexpr Kernel kernel{.name = "tiled bf16, BFMMLA",
                                 .reason = "the CPU multiplies bf16 matrices",
                                 .attend = attend_tiled<Ops>,
                                 .scratch_bytes = tiled_scratch_bytes<Ops>,
                                 .panel_rows = 2 * kMaxPairs,
                                 .packing_rows = 8};
  return kernel;
}

}  // namespace flashmoe::cpu

#pragma GCC pop_options
#endif
