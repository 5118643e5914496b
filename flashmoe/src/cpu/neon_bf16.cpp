// SPDX-License-Identifier: MIT
// The tiled bf16 kernel for Arm: K and V of a block are packed into the shapes of neon_bf16_panel.h.
// Bound: arithmetic, BFMMLA and the exponentials between the two products. 12 x 8 tiles, 24 of 32 registers.
#include "cpu/neon_bf16.h"

#ifdef FLASHMOE_NEON_BF16

#include <sys/auxv.h>

#include "cpu/neon_bf16_panel.h"

#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+bf16")

namespace flashmoe::cpu {
namespace neon_bf16 {
namespace {

constexpr int64_t kBlockKeys = kMaxKeys;  // K and V of a block stay in the second-level cache

// S of one tile of keys. kMasked: what lies past a row's limit becomes -inf.
template <int kPairs, bool kMasked>
void score_tile(const PanelStep& step, const bfloat16_t* k, int64_t first_key, const Limits& limits,
                Vec* largest) {
  Vec acc[kPairs][4];
#pragma GCC unroll 6
  for (int i = 0; i < kPairs; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) acc[i][j] = vdupq_n_f32(0);
  }
  multiply<kPairs>(acc, as_bf16(step.q), k, ceil_div(step.dim, 4));
  if (kMasked) hide_unseen(acc, first_key, limits);
  store_scores(acc, scores_of(step) + first_key * 2, pair_scores(step.block_keys), largest);
}

// Where the elements of V lie.
int64_t v_tile_size(int64_t keys) { return round_up(keys, 4) * kTile; }
int64_t v_index(int64_t key, int64_t d, int64_t keys) {
  return d / kTile * v_tile_size(keys) + key / 4 * 32 + d % kTile * 4 + key % 4;
}

// O += P V where V holds infinity or NaN: keys that a row does not see must not be multiplied, not even by 0.
void add_weighted_plainly(const PanelStep& step) {
  const auto* v = reinterpret_cast<const bf16*>(step.v);
  for (int64_t r = 0; r < step.rows; ++r) {
    const Range seen = step.seen_by(r);
    for (int64_t key = seen.begin; key < seen.end; ++key) {
      const float weight = weight_of(step, r, key);
      for (int64_t d = 0; d < step.dim; ++d) {
        step.out[out_index(r, d)] += weight * to_float(v[v_index(key, d, step.block_keys)]);
      }
    }
  }
}

template <int kPairs>
void absorb_pairs(const PanelStep& step) {
  const Limits limits(step);
  const int64_t k_tile = ceil_div(step.dim, 4) * 32;
  Vec largest[kPairs];
  for (Vec& x : largest) x = vdupq_n_f32(-kInfinity);
  const int64_t first = first_tile(step);
  for (int64_t key = first; key < step.keys; key += kTile) {
    const bfloat16_t* k = as_bf16(step.k) + key / kTile * k_tile;
    (step.cut(key, kTile) ? score_tile<kPairs, true> : score_tile<kPairs, false>)(step, k, key, limits,
                                                                                  largest);
  }
  raise_shifts(step, largest, kPairs);
  weigh(step, kPairs);

  const int64_t steps = ceil_div(step.keys - first, 4);
  if (!step.v_finite && step.cut(first, 4 * steps)) return add_weighted_plainly(step);
  const bfloat16_t* weights = as_bf16(step.weights) + first / 4 * 8 * kMaxPairs;
  for (int64_t t = 0; t < ceil_div(step.dim, kTile); ++t) {
    const bfloat16_t* v = as_bf16(step.v) + t * v_tile_size(step.block_keys) + first / 4 * 32;
    add_weighted_tile<kPairs>(weights, v, steps, step.out + t * kOutTile);
  }
}

struct TiledOps : PanelOps {
  static int64_t block_keys() { return kBlockKeys; }
  static int64_t k_block_bytes(int64_t dim, int64_t keys) {
    return ceil_div(keys, kTile) * ceil_div(dim, 4) * 64;
  }
  static int64_t v_block_bytes(int64_t dim, int64_t keys) {
    return ceil_div(dim, kTile) * v_tile_size(keys) * 2;
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
    const PanelStep positive = with_positive_scale(step);
    if (step.rows <= 4) return absorb_pairs<2>(positive);
    if (step.rows <= 8) return absorb_pairs<4>(positive);
    absorb_pairs<kMaxPairs>(positive);
  }
};

}  // namespace
}  // namespace neon_bf16

bool neon_bf16_supported() {
  constexpr unsigned long kBf16 = 1UL << 14;  // HWCAP2_BF16, which older headers lack
  return (getauxval(AT_HWCAP2) & kBf16) != 0;
}

const Kernel& neon_bf16_kernel() {
  static constexpr Kernel kernel{.name = "tiled bf16, BFMMLA",
                                 .reason = "the CPU multiplies bf16 matrices",
                                 .attend = attend_tiled<neon_bf16::TiledOps>,
                                 .scratch_bytes = tiled_scratch_bytes<neon_bf16::TiledOps>,
                                 .panel_rows = 2 * neon_bf16::kMaxPairs,
                                 .packing_rows = 12,
                                 .core_flop_per_us = 150e3};
  return kernel;
}

}  // namespace flashmoe::cpu

#pragma GCC pop_options
#endif
