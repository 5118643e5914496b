// SPDX-License-Identifier: MIT
// The bf16 kernel for Arm and few query rows (decode): K and V are read where they lie and brought into the
// shapes of BFMMLA in registers, since packed copies would be used only once. Bound: memory. One row of K and
// one of V, 4 D bytes, are read per key.
#include "cpu/neon_bf16.h"

#ifdef FLASHMOE_NEON_BF16

#include "cpu/neon_bf16_panel.h"

#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+bf16")

namespace flashmoe::cpu {
namespace neon_bf16 {
namespace {

constexpr int64_t kBlockKeys = 32;  // V of a block is fetched into the first-level cache while K is read

// What "packed" K and V are here: the rows of the block themselves.
struct Rows {
  const bfloat16_t* first;
  int64_t stride;
  int64_t next = 0;  // Task::k_next

  const bfloat16_t* operator[](int64_t key) const { return first + key * stride; }
};

inline Half low_halves(Half a, Half b) {
  return vreinterpretq_bf16_u64(vzip1q_u64(vreinterpretq_u64_bf16(a), vreinterpretq_u64_bf16(b)));
}
inline Half high_halves(Half a, Half b) {
  return vreinterpretq_bf16_u64(vzip2q_u64(vreinterpretq_u64_bf16(a), vreinterpretq_u64_bf16(b)));
}

// S of kSteps steps of dims: `keys` are those dims of four keys, eight to a register. Neighbouring steps have
// sums of their own: a sum that is needed again at once halves the rate.
template <int kPairs, int kSums, int kSteps>
inline void multiply_keys(Vec (&sums)[kSums][kPairs][2], const bfloat16_t* q,
                          const Half (&keys)[4][kSteps / 2]) {
#pragma GCC unroll 4
  for (int s = 0; s < kSteps; ++s) {
    Half two[2];
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      const Half a = keys[2 * j][s / 2];
      const Half b = keys[2 * j + 1][s / 2];
      two[j] = s % 2 == 0 ? low_halves(a, b) : high_halves(a, b);
    }
#pragma GCC unroll 6
    for (int i = 0; i < kPairs; ++i) {
      const Half pair = vld1q_bf16(q + 8 * (s * kMaxPairs + i));
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j) sums[s % kSums][i][j] = vbfmmlaq_f32(sums[s % kSums][i][j], pair, two[j]);
    }
  }
}

// What is left of S where D is no multiple of 32.
template <int kPairs, int kSums>
void multiply_rest(Vec (&sums)[kSums][kPairs][2], const bfloat16_t* q, const bfloat16_t* const (&rows)[4],
                   int64_t d, int64_t dim) {
  for (; d < dim; d += 8, q += 2 * 8 * kMaxPairs) {
    bfloat16_t padded[2 * 8 * kMaxPairs] = {};  // the last step of Q may be missing
    std::copy_n(q, (dim - d > 4 ? 2 : 1) * 8 * kMaxPairs, padded);
    Half keys[4][1];
    for (int j = 0; j < 4; ++j) keys[j][0] = load_eight(rows[j], d, dim);
    multiply_keys<kPairs, kSums, 2>(sums, padded, keys);
  }
}

// S of four keys; asks for their rows of V meanwhile. kWhole: D is a multiple of 32.
template <int kPairs, bool kWhole>
void score_keys(const PanelStep& step, const Rows& k, const Rows& v, int64_t first_key, const Limits& limits,
                Vec* largest) {
  const bfloat16_t* rows[4];
  const bfloat16_t* values[4];
#pragma GCC unroll 4
  for (int64_t j = 0; j < 4; ++j) {
    const int64_t key = std::min(first_key + j, step.keys - 1);  // past the end: any row, hidden below
    rows[j] = k[key];
    values[j] = v[key];
  }
  constexpr int kSums = kPairs <= 2 ? 4 : kPairs <= 4 ? 2 : 1;  // as many as there are registers for
  Vec sums[kSums][kPairs][2];
#pragma GCC unroll 4
  for (int s = 0; s < kSums; ++s) {
#pragma GCC unroll 6
    for (int i = 0; i < kPairs; ++i) sums[s][i][0] = sums[s][i][1] = vdupq_n_f32(0);
  }
  const bfloat16_t* q = as_bf16(step.q);
  int64_t d = 0;
  for (; d + 32 <= step.dim; d += 32) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half, q += 4 * 8 * kMaxPairs) {
      Half keys[4][2];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        keys[j][0] = vld1q_bf16(rows[j] + d + 16 * half);
        keys[j][1] = vld1q_bf16(rows[j] + d + 16 * half + 8);
      }
      multiply_keys<kPairs, kSums, 4>(sums, q, keys);
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) __builtin_prefetch(values[j] + d);
    if (k.next != 0) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) __builtin_prefetch(rows[j] + d + k.next);
    }
  }
  if constexpr (!kWhole) multiply_rest(sums, q, rows, d, step.dim);
#pragma GCC unroll 6
  for (int i = 0; i < kPairs; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      if constexpr (kSums == 4) sums[0][i][j] = vaddq_f32(sums[0][i][j], sums[2][i][j]);
      if constexpr (kSums == 4) sums[1][i][j] = vaddq_f32(sums[1][i][j], sums[3][i][j]);
      if constexpr (kSums >= 2) sums[0][i][j] = vaddq_f32(sums[0][i][j], sums[1][i][j]);
    }
  }
  if (step.cut(first_key, 4)) {
    Vec hidden[kPairs][2];  // a copy: what is taken the address of would live in memory in the loop above too
    std::copy_n(&sums[0][0][0], 2 * kPairs, &hidden[0][0]);
    hide_unseen(hidden, first_key, limits);
    return store_scores(hidden, scores_of(step) + first_key * 2, pair_scores(step.block_keys), largest);
  }
  store_scores(sums[0], scores_of(step) + first_key * 2, pair_scores(step.block_keys), largest);
}

// O of kDims dims += P V over the steps [begin, end) of four keys. kWhole: no dim lies past the end of the
// rows.
template <int kPairs, int kDims, bool kWhole>
inline void add_weighted_tile(const PanelStep& step, const Rows& v, int64_t begin, int64_t end, int64_t d) {
  constexpr int kTiles = kDims / kTile;
  float* out = step.out + d / kTile * kOutTile;
  const bfloat16_t* weights = as_bf16(step.weights) + begin * 8 * kMaxPairs;
  Vec acc[kTiles][kPairs][4];
#pragma GCC unroll 4
  for (int t = 0; t < kTiles; ++t) {
#pragma GCC unroll 6
    for (int i = 0; i < kPairs; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) acc[t][i][j] = vld1q_f32(out + t * kOutTile + 16 * i + 4 * j);
    }
  }
  for (int64_t s = begin; s < end; ++s, weights += 8 * kMaxPairs) {
#pragma GCC unroll 4
    for (int t = 0; t < kTiles; ++t) {
      uint16x8_t x[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const bfloat16_t* row = v[4 * s + i];
        x[i] =
            vreinterpretq_u16_bf16(kWhole ? vld1q_bf16(row + d + t * kTile) : load_eight(row, d, step.dim));
      }
      const uint16x8x2_t even = vzipq_u16(x[0], x[2]);
      const uint16x8x2_t odd = vzipq_u16(x[1], x[3]);
      const uint16x8x2_t low = vzipq_u16(even.val[0], odd.val[0]);
      const uint16x8x2_t high = vzipq_u16(even.val[1], odd.val[1]);
      const Half values[4] = {vreinterpretq_bf16_u16(low.val[0]), vreinterpretq_bf16_u16(low.val[1]),
                              vreinterpretq_bf16_u16(high.val[0]), vreinterpretq_bf16_u16(high.val[1])};
#pragma GCC unroll 6
      for (int i = 0; i < kPairs; ++i) {
        const Half pair = vld1q_bf16(weights + 8 * i);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) acc[t][i][j] = vbfmmlaq_f32(acc[t][i][j], pair, values[j]);
      }
    }
  }
#pragma GCC unroll 4
  for (int t = 0; t < kTiles; ++t) {
#pragma GCC unroll 6
    for (int i = 0; i < kPairs; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) vst1q_f32(out + t * kOutTile + 16 * i + 4 * j, acc[t][i][j]);
    }
  }
}

// O += P V for the keys outside `full`, which not all rows see: one by one, so that what a row does not
// see is not even multiplied by 0.
void add_weighted_plainly(const PanelStep& step, const Rows& v, Range full) {
  for (int64_t r = 0; r < step.rows; ++r) {
    each_key_outside(step.seen_by(r), full, [&](int64_t key) {
      const auto* row = reinterpret_cast<const bf16*>(v[key]);
      const float weight = weight_of(step, r, key);
      for (int64_t d = 0; d < step.dim; ++d) step.out[out_index(r, d)] += weight * to_float(row[d]);
    });
  }
}

template <int kPairs>
void absorb_pairs(const PanelStep& step) {
  Rows k, v;
  std::memcpy(&k, step.k, sizeof k);
  std::memcpy(&v, step.v, sizeof v);
  const Limits limits(step);
  Vec largest[kPairs];
  for (Vec& x : largest) x = vdupq_n_f32(-kInfinity);
  // Whole tiles: the softmax takes eight keys at a time.
  for (int64_t key = first_tile(step); key < round_up(step.keys, kTile); key += 4) {
    (step.dim % 32 == 0 ? score_keys<kPairs, true> : score_keys<kPairs, false>)(step, k, v, key, limits,
                                                                                largest);
  }
  raise_shifts(step, largest, kPairs);
  weigh(step, kPairs);

  constexpr int kDims = kPairs <= 2 ? 2 * kTile : kTile;  // as many as there are registers for
  const int64_t begin = ceil_div(step.full_begin, 4);
  const int64_t end = std::max(begin, step.full_end / 4);
  int64_t d = 0;
  for (; d + kDims <= step.dim; d += kDims) add_weighted_tile<kPairs, kDims, true>(step, v, begin, end, d);
  for (; d < step.dim; d += kTile) add_weighted_tile<kPairs, kTile, false>(step, v, begin, end, d);
  if (step.cut() || 4 * end < step.keys) add_weighted_plainly(step, v, {4 * begin, 4 * end});
}

struct RowsOps : PanelOps {
  static int64_t block_keys() { return kBlockKeys; }
  static int64_t k_block_bytes(int64_t, int64_t) { return sizeof(Rows); }
  static int64_t v_block_bytes(int64_t, int64_t) { return sizeof(Rows); }

  static void pack_k(const Task& task, int64_t key, int64_t, std::byte* k) {
    const Rows rows{static_cast<const bfloat16_t*>(task.k) + key * task.k_row_stride, task.k_row_stride,
                    task.k_next};
    std::memcpy(k, &rows, sizeof rows);
  }

  static bool pack_v(const Task& task, int64_t key, int64_t, std::byte* v) {
    const Rows rows{static_cast<const bfloat16_t*>(task.v) + key * task.v_row_stride, task.v_row_stride};
    std::memcpy(v, &rows, sizeof rows);
    return true;  // absorb does not depend on it
  }

  static void absorb(const PanelStep& step) {
    const PanelStep positive = with_positive_scale(step);
    if (step.rows <= 2) return absorb_pairs<1>(positive);
    if (step.rows <= 4) return absorb_pairs<2>(positive);
    if (step.rows <= 8) return absorb_pairs<4>(positive);
    absorb_pairs<kMaxPairs>(positive);
  }
};

}  // namespace
}  // namespace neon_bf16

const Kernel& neon_bf16_rows_kernel() {
  static constexpr Kernel kernel{.name = "few rows bf16, BFMMLA",
                                 .reason = "so few rows that packed K and V would be used once",
                                 .attend = attend_tiled_heads<neon_bf16::RowsOps>,
                                 .scratch_bytes = tiled_scratch_bytes<neon_bf16::RowsOps>,
                                 .panel_rows = 2 * neon_bf16::kMaxPairs,
                                 .packing_rows = 0,
                                 .takes_heads = true,
                                 .core_flop_per_us = 40e3};
  return kernel;
}

}  // namespace flashmoe::cpu

#pragma GCC pop_options
#endif
