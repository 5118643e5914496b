// SPDX-License-Identifier: MIT
// Gradients on bf16 for Arm, by BFMMLA, in the shapes of neon_bf16_panel.h. Bound: arithmetic.
//
// Blocks of keys are the outer loop, blocks of rows the inner one, panels are 12 rows or 12 keys:
//
//   S  = Q K^T, dP = dO V^T   for each panel of rows; fp32, 2 x 2
//   P = exp2(S - LSE), dS = P (dP - delta), rounded to bf16: dS as the forward's P, steps of 4 keys of a pair
//     of rows; P and dS also transposed, steps of 4 rows of a pair of keys
//   dQ += dS K                for each panel of rows
//   dV += P^T dO, dK += dS^T Q   for each panel of keys
//
// Sums of dQ, dK and dV are [panel][tile of 8 dims][pair][2 x 2 for each pair of dims], as the forward's O.
#include "cpu/backward_kernels.h"
#include "cpu/neon_bf16.h"

#ifdef FLASHMOE_NEON_BF16

#include <limits>

#include "cpu/arena.h"
#include "cpu/cancel.h"
#include "cpu/neon_bf16_panel.h"

#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+bf16")

namespace flashmoe::cpu {
namespace neon_bf16 {
namespace {

constexpr int64_t kPanel = 2 * kMaxPairs;  // rows or keys
constexpr int64_t kStep = 8 * kMaxPairs;   // elements of one step of a packed panel
constexpr int64_t kBlockRows = 96;
constexpr int64_t kWhole = 24;  // keys that are whole panels and whole tiles
constexpr int64_t kBlockKeys = 10 * kWhole;

int64_t sum_stride(int64_t dim) { return round_up(dim, kTile); }
int64_t panel_sums(int64_t dim) { return kPanel * sum_stride(dim); }
int64_t panel_elements(int64_t dim) { return ceil_div(dim, 4) * kStep; }     // of Q or dO
int64_t tile_elements(int64_t dim) { return ceil_div(dim, 4) * 32; }         // of K or V
int64_t column_elements(int64_t rows) { return round_up(rows, 4) * kTile; }  // of one tile of dims

struct Scratch {
  float *lse, *delta;                    // of every row; LSE in units of log2, its sign changed
  bfloat16_t *k, *v;                     // [tile of keys][step of 4 dims][pair]
  bfloat16_t* k_columns;                 // [tile of dims][step of 4 keys][pair of dims]
  float *dk, *dv;                        // sums
  bfloat16_t *q, *dout;                  // [panel of rows][step of 4 dims][pair]
  bfloat16_t *q_columns, *dout_columns;  // [tile of dims][step of 4 rows][pair of dims]
  float *s, *dp;                         // of one panel of rows: [tile of keys][pair of rows][pair of keys]
  bfloat16_t* ds;                        // of one panel of rows: [step of 4 keys][pair]
  bfloat16_t *p_t, *ds_t;                // [panel of keys][step of 4 rows][pair]
  float* panel;                          // sums of one panel, row by row
  BlockRuns runs;
  std::size_t bytes;

  Scratch(std::byte* base, const ForwardProblem& problem, int64_t task_keys) {
    const int64_t dim = problem.head_dim;
    const int64_t all_rows = round_up(problem.group() * problem.q_rows, kPanel);
    const int64_t rows = std::min(kBlockRows, all_rows);
    const int64_t keys = std::min(kBlockKeys, round_up(task_keys, 2 * kPanel));
    Arena arena(base);
    lse = arena.take<float>(all_rows);
    delta = arena.take<float>(all_rows);
    k = arena.take<bfloat16_t>(keys / kTile * tile_elements(dim));
    v = arena.take<bfloat16_t>(keys / kTile * tile_elements(dim));
    k_columns = arena.take<bfloat16_t>(ceil_div(dim, kTile) * column_elements(keys));
    dk = arena.take<float>(keys / kPanel * panel_sums(dim));
    dv = arena.take<float>(keys / kPanel * panel_sums(dim));
    q = arena.take<bfloat16_t>(rows / kPanel * panel_elements(dim));
    dout = arena.take<bfloat16_t>(rows / kPanel * panel_elements(dim));
    q_columns = arena.take<bfloat16_t>(ceil_div(dim, kTile) * column_elements(rows));
    dout_columns = arena.take<bfloat16_t>(ceil_div(dim, kTile) * column_elements(rows));
    s = arena.take<float>(keys * kPanel);
    dp = arena.take<float>(keys * kPanel);
    ds = arena.take<bfloat16_t>(keys * kPanel);
    p_t = arena.take<bfloat16_t>(keys * rows);
    ds_t = arena.take<bfloat16_t>(keys * rows);
    panel = arena.take<float>(panel_sums(dim));
    runs.begins = arena.take<int32_t>(rows);
    runs.limits = arena.take<int32_t>(rows);
    bytes = arena.bytes();
  }
};

using ConstRows = PackedRows<const bfloat16_t>;

Vec widened(const bfloat16_t* from) {
  return vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_bf16(vld1_bf16(from)), 16));
}

float dot_rows(const bfloat16_t* x, const bfloat16_t* y, int64_t dim) {
  Vec sum = vdupq_n_f32(0);
  int64_t d = 0;
  for (; d + 4 <= dim; d += 4) sum = vfmaq_f32(sum, widened(x + d), widened(y + d));
  float total = vaddvq_f32(sum);
  const auto* left = reinterpret_cast<const bf16*>(x);
  const auto* right = reinterpret_cast<const bf16*>(y);
  for (; d < dim; ++d) total += to_float(left[d]) * to_float(right[d]);
  return total;
}

// A row that weighs nothing gets an LSE of +inf, which makes its weights 0; so do rows past the end.
void prepare_rows(const BackwardTask& task, const Scratch& scratch) {
  const ForwardProblem& p = *task.problem;
  const int64_t rows = p.group() * p.q_rows;
  const ConstRows out = task.out.as<const bfloat16_t>(p.group());
  const ConstRows dout = task.dout.as<const bfloat16_t>(p.group());
  for (int64_t r = 0; r < round_up(rows, kPanel); ++r) {
    scratch.lse[r] = -kInfinity;
    scratch.delta[r] = 0;
    if (r >= rows) continue;
    const RowStatistics row = row_statistics(task, r);
    if (row.weighs_nothing()) continue;
    scratch.lse[r] = -lse_log2(row.lse);
    scratch.delta[r] = dot_rows(dout[r], out[r], p.head_dim) - row.dlse;
  }
}

// The rows [row, row + count) by pairs, `in_step` pairs side by side in each step of 4 dims, zeros past them.
void pack_pairs(const ConstRows& rows, int64_t row, int64_t count, int64_t dim, int64_t in_step,
                bfloat16_t* to) {
  const int64_t group = 2 * in_step;
  for (int64_t i = 0; i < round_up(count, group); i += 2) {
    const bfloat16_t* first = i < count ? rows[row + i] : nullptr;
    const bfloat16_t* second = i + 1 < count ? rows[row + i + 1] : nullptr;
    pack_pair(first, second, dim, 0, to + i / group * ceil_div(dim, 4) * 8 * in_step + i % group / 2 * 8,
              8 * in_step);
  }
}

// The same rows by columns. Returns whether every element is finite.
bool pack_columns(const ConstRows& rows, int64_t row, int64_t count, int64_t dim, bfloat16_t* to) {
  uint16x8_t largest = vdupq_n_u16(0);
  for (int64_t i = 0; i < count; i += 4) {
    const bfloat16_t* four[4];
    for (int64_t j = 0; j < 4; ++j) four[j] = i + j < count ? rows[row + i + j] : nullptr;
    largest = vmaxq_u16(largest, pack_four(four, dim, to + 8 * i, column_elements(count)));
  }
  return vmaxvq_u16(largest) < 0x7F80;
}

// One element of what pack_columns left.
float column_value(const bfloat16_t* packed, int64_t row, int64_t rows, int64_t d) {
  const auto* values = reinterpret_cast<const bf16*>(packed);
  return to_float(values[d / kTile * column_elements(rows) + row / 4 * 32 + d % kTile * 4 + row % 4]);
}

// The product of a panel of rows and one tile of keys.
void multiply_tile(const bfloat16_t* a, const bfloat16_t* b, int64_t dim, float* to) {
  Vec acc[kMaxPairs][4];
#pragma GCC unroll 6
  for (int i = 0; i < kMaxPairs; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) acc[i][j] = vdupq_n_f32(0);
  }
  multiply<kMaxPairs>(acc, a, b, ceil_div(dim, 4));
#pragma GCC unroll 6
  for (int i = 0; i < kMaxPairs; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) vst1q_f32(to + 16 * i + 4 * j, acc[i][j]);
  }
}

// Two pairs of rows and one pair of keys, transposed: steps of 4 rows.
void store_transposed(Vec upper, Vec lower, bfloat16_t* to) {
  const Vec key0 = vuzp1q_f32(upper, lower);
  const Vec key1 = vuzp2q_f32(upper, lower);
  vst1q_bf16(to, vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(key0), key1));
}

Vec of_pair(const float* rows) { return Vec{rows[0], rows[0], rows[1], rows[1]}; }

// A block of rows and a block of keys. What a row does not see has P and dS of 0, which multiplied by
// infinity or NaN would still do harm: where K, Q or dO holds such values, the tiles that the mask cuts are
// added pair by pair.
struct Block {
  const Scratch& scratch;
  const ExpConstants& constants;
  int64_t dim;
  int64_t row, rows;
  int64_t keys;
  bool k_finite, rows_finite;
  float* dq;  // sums of the block's first panel

  int64_t row_steps() const { return round_up(rows, kPanel) / 4; }

  // Where P and dS of a pair of keys and a step of rows lie in p_t and ds_t.
  int64_t transposed_at(int64_t key_pair, int64_t row_step) const {
    return (key_pair / kMaxPairs * row_steps() + row_step) * kStep + key_pair % kMaxPairs * 8;
  }

  // P and dS of four rows from `first` on, the third `part` of their panel, and one tile of keys.
  template <bool kMasked>
  void weigh(int64_t first, int64_t part, int64_t tile) const {
    const float* s = scratch.s + tile * kOutTile + part * 32;
    const float* dp = scratch.dp + tile * kOutTile + part * 32;
    const float* lse = scratch.lse + row + first;
    const float* delta = scratch.delta + row + first;
    const Vec shift[2] = {of_pair(lse), of_pair(lse + 2)};
    const Vec centre[2] = {of_pair(delta), of_pair(delta + 2)};
    Vec p[8], ds[8];
    each_vec<8>(
        [&](int i) { p[i] = vfmaq_laneq_f32(shift[i / 4], vld1q_f32(s + 4 * i), constants.lanes, 0); });
    exponentiate(p, constants);
    each_vec<8>([&](int i) { ds[i] = vmulq_f32(p[i], vsubq_f32(vld1q_f32(dp + 4 * i), centre[i / 4])); });
    if (kMasked) {
      each_vec<8>([&](int i) {
        const int32_t* begin = scratch.runs.begins + first + i / 4 * 2;
        const int32_t* limit = scratch.runs.limits + first + i / 4 * 2;
        const int32_t key = static_cast<int32_t>(tile * kTile) + i % 4 * 2;
        const int32x4_t pair{key, key + 1, key, key + 1};
        const uint32x4_t seen = vandq_u32(vcgeq_s32(pair, int32x4_t{begin[0], begin[0], begin[1], begin[1]}),
                                          vcltq_s32(pair, int32x4_t{limit[0], limit[0], limit[1], limit[1]}));
        p[i] = vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(p[i]), seen));
        ds[i] = vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(ds[i]), seen));
      });
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const int64_t to = transposed_at(tile * 4 + j, first / 4);
      store_transposed(p[j], p[4 + j], scratch.p_t + to);
      store_transposed(ds[j], ds[4 + j], scratch.ds_t + to);
    }
    bfloat16_t* to = scratch.ds + tile * 2 * kStep + part * 16;
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) store_weights(ds[2 * j], ds[2 * j + 1], to + j % 2 * kStep + j / 2 * 8);
  }

  // The panel of rows from `first` on: S, dP, P, dS and dQ.
  void rows_against_keys(int64_t first) const {
    const BlockRuns& runs = scratch.runs;
    const int64_t last = std::min(first + kPanel, rows) - 1;
    const bool whole_panel = first + kPanel <= rows;
    const Range seen{runs.begins[first], runs.limits[last]};
    if (seen.begin >= seen.end) return;
    // Whole panels of keys: what lies in them before the first key that is seen becomes 0 by the mask.
    const int64_t begin = seen.begin / kWhole * kWhole;
    const int64_t tiles = ceil_div(seen.end, kTile);
    for (int64_t tile = begin / kTile; tile < tiles; ++tile) {
      const int64_t at = tile * tile_elements(dim);
      const int64_t panel = first / kPanel * panel_elements(dim);
      multiply_tile(scratch.q + panel, scratch.k + at, dim, scratch.s + tile * kOutTile);
      multiply_tile(scratch.dout + panel, scratch.v + at, dim, scratch.dp + tile * kOutTile);
    }
    for (int64_t tile = begin / kTile; tile < tiles; ++tile) {
      const bool full = whole_panel && runs.full(first, last, tile * kTile, kTile);
      for (int64_t part = 0; part < 3; ++part) {
        if (full) {
          weigh<false>(first + 4 * part, part, tile);
        } else {
          weigh<true>(first + 4 * part, part, tile);
        }
      }
    }
    // A panel of keys ends behind the tile: no row of this panel sees the rest.
    for (int64_t pair = 4 * tiles; pair < round_up(4 * tiles, kMaxPairs); ++pair) {
      for (int64_t step = first / 4; step < first / 4 + 3; ++step) {
        std::fill_n(reinterpret_cast<uint16_t*>(scratch.p_t + transposed_at(pair, step)), 8, uint16_t{0});
        std::fill_n(reinterpret_cast<uint16_t*>(scratch.ds_t + transposed_at(pair, step)), 8, uint16_t{0});
      }
    }

    if (k_finite) {
      add_to_dq(first, {begin / 4, ceil_div(seen.end, 4)});
      return;
    }
    const int64_t full_begin = ceil_div(runs.begins[last], 4);
    const Range steps{full_begin, std::max<int64_t>(full_begin, runs.limits[first] / 4)};
    add_to_dq(first, steps);
    float* sums = dq + first / kPanel * panel_sums(dim);
    for (int64_t r = first; r <= last; ++r) {
      each_key_outside({runs.begins[r], runs.limits[r]}, {4 * steps.begin, 4 * steps.end}, [&](int64_t key) {
        const auto* weights = reinterpret_cast<const bf16*>(scratch.ds) + key / 4 * kStep;
        const float weight = to_float(weights[(r - first) / 2 * 8 + r % 2 * 4 + key % 4]);
        for (int64_t d = 0; d < dim; ++d)
          sums[out_index(r - first, d)] += weight * column_value(scratch.k_columns, key, keys, d);
      });
    }
  }

  // dq of the panel of rows from `first` on += dS K over some steps of four keys.
  void add_to_dq(int64_t first, Range steps) const {
    float* sums = dq + first / kPanel * panel_sums(dim);
    for (int64_t t = 0; t < ceil_div(dim, kTile); ++t) {
      const bfloat16_t* k = scratch.k_columns + t * column_elements(keys) + 32 * steps.begin;
      add_weighted_tile<kMaxPairs>(scratch.ds + steps.begin * kStep, k, steps.size(), sums + t * kOutTile);
    }
  }

  // What row r adds to dk and dv of the panel of keys from `first` on.
  void add_pairs(int64_t first, int64_t r) const {
    const int64_t begin = std::max<int64_t>(first, scratch.runs.begins[r]);
    const int64_t end = std::min<int64_t>(first + kPanel, scratch.runs.limits[r]);
    for (int64_t key = begin; key < end; ++key) {
      const int64_t at = transposed_at(key / 2, r / 4) + key % 2 * 4 + r % 4;
      const float p = to_float(reinterpret_cast<const bf16*>(scratch.p_t)[at]);
      const float ds = to_float(reinterpret_cast<const bf16*>(scratch.ds_t)[at]);
      for (int64_t d = 0; d < dim; ++d) {
        const int64_t to = first / kPanel * panel_sums(dim) + out_index(key - first, d);
        scratch.dv[to] += p * column_value(scratch.dout_columns, r, rows, d);
        scratch.dk[to] += ds * column_value(scratch.q_columns, r, rows, d);
      }
    }
  }

  // The panel of keys from `first` on: dV and dK.
  void keys_against_rows(int64_t first) const {
    const BlockRuns& runs = scratch.runs;
    const int64_t count = std::min(kPanel, keys - first);
    Range by = runs.rows_that_see(rows, first, count);
    if (by.begin >= by.end) return;
    // Whole steps: their other rows see none of these keys, or lie past the end.
    by = {by.begin / 4 * 4, round_up(by.end, 4)};
    if (!rows_finite) {
      const auto full_step = [&](int64_t r) { return r + 4 <= rows && runs.full(r, r + 3, first, count); };
      const auto add_step = [&](int64_t r) {
        for (int64_t i = r; i < std::min(r + 4, rows); ++i) add_pairs(first, i);
      };
      for (; by.begin < by.end && !full_step(by.begin); by.begin += 4) add_step(by.begin);
      for (; by.begin < by.end && !full_step(by.end - 4); by.end -= 4) add_step(by.end - 4);
    }
    const int64_t steps = by.size() / 4;
    const int64_t weights = transposed_at(first / 2, by.begin / 4);
    for (int64_t t = 0; t < ceil_div(dim, kTile); ++t) {
      const int64_t columns = t * column_elements(rows) + 8 * by.begin;
      const int64_t sums = first / kPanel * panel_sums(dim) + t * kOutTile;
      add_weighted_tile<kMaxPairs>(scratch.p_t + weights, scratch.dout_columns + columns, steps,
                                   scratch.dv + sums);
      add_weighted_tile<kMaxPairs>(scratch.ds_t + weights, scratch.q_columns + columns, steps,
                                   scratch.dk + sums);
    }
  }
};

// Sums of a panel, row by row.
void gather_rows(const float* sums, int64_t dim, float* rows) {
  for (int64_t r = 0; r < kPanel; ++r) PanelOps::out_row(sums, r, dim, rows + r * sum_stride(dim));
}

// `count` rows of the sums of whole panels, times scale.
void store_sums(const float* sums, int64_t count, int64_t dim, float scale, float* panel,
                const PackedRows<bf16>& to, int64_t first) {
  for (int64_t r = 0; r < count; ++r) {
    if (r % kPanel == 0) gather_rows(sums + r / kPanel * panel_sums(dim), dim, panel);
    PanelOps::store(panel + r % kPanel * sum_stride(dim), scale, dim, to[first + r]);
  }
}

void differentiate(const BackwardTask& task) {
  const ForwardProblem& p = *task.problem;
  const int64_t dim = p.head_dim;
  const int64_t all_rows = p.group() * p.q_rows;
  const Scratch scratch(task.scratch, p, task.kv_end - task.kv_begin);
  const ConstRows q = task.q.as<const bfloat16_t>(p.group());
  const ConstRows dout = task.dout.as<const bfloat16_t>(p.group());
  const ConstRows k = task.k.as<const bfloat16_t>(1);
  const ConstRows v = task.v.as<const bfloat16_t>(1);
  const ExpConstants constants = exp_constants(p.scale * kLog2E);
  prepare_rows(task, scratch);
  std::fill_n(task.dq_sums, ceil_div(all_rows, kPanel) * panel_sums(dim), 0.0F);

  for (int64_t key = task.kv_begin; key < task.kv_end; key += kBlockKeys) {
    const int64_t keys = std::min(kBlockKeys, task.kv_end - key);
    std::fill_n(scratch.dk, ceil_div(keys, kPanel) * panel_sums(dim), 0.0F);
    std::fill_n(scratch.dv, ceil_div(keys, kPanel) * panel_sums(dim), 0.0F);
    pack_pairs(k, key, keys, dim, 4, scratch.k);
    pack_pairs(v, key, keys, dim, 4, scratch.v);
    const bool k_finite = pack_columns(k, key, keys, dim, scratch.k_columns);
    for (int64_t row = 0; row < all_rows && !is_cancelled(task.cancel); row += kBlockRows) {
      const int64_t rows = std::min(kBlockRows, all_rows - row);
      scratch.runs.find(p, row, rows, round_up(rows, kPanel), key, keys);
      const Range seen = scratch.runs.seen_by_any(rows);
      if (seen.begin >= seen.end) continue;
      pack_pairs(q, row, rows, dim, kMaxPairs, scratch.q);
      pack_pairs(dout, row, rows, dim, kMaxPairs, scratch.dout);
      const bool q_finite = pack_columns(q, row, rows, dim, scratch.q_columns);
      const bool dout_finite = pack_columns(dout, row, rows, dim, scratch.dout_columns);
      const Block block{.scratch = scratch,
                        .constants = constants,
                        .dim = dim,
                        .row = row,
                        .rows = rows,
                        .keys = keys,
                        .k_finite = k_finite,
                        .rows_finite = q_finite && dout_finite,
                        .dq = task.dq_sums + row / kPanel * panel_sums(dim)};
      for (int64_t i = 0; i < rows; i += kPanel) block.rows_against_keys(i);
      for (int64_t i = seen.begin / kPanel * kPanel; i < seen.end; i += kPanel) block.keys_against_rows(i);
    }
    store_sums(scratch.dk, keys, dim, p.scale, scratch.panel, task.dk.as<bf16>(1), key);
    store_sums(scratch.dv, keys, dim, 1.0F, scratch.panel, task.dv.as<bf16>(1), key);
  }
  if (task.stores_dq) {
    store_sums(task.dq_sums, all_rows, dim, p.scale, scratch.panel, task.dq.as<bf16>(p.group()), 0);
    return;
  }
  for (int64_t i = 0; i < ceil_div(all_rows, kPanel); ++i) {
    float* sums = task.dq_sums + i * panel_sums(dim);
    gather_rows(sums, dim, scratch.panel);
    std::copy_n(scratch.panel, panel_sums(dim), sums);
  }
}

}  // namespace
}  // namespace neon_bf16

const BackwardKernel& neon_bf16_backward_kernel() {
  static constexpr BackwardKernel kernel{
      .name = "tiled bf16, BFMMLA",
      .reason = "the CPU multiplies bf16 matrices",
      .differentiate = neon_bf16::differentiate,
      .scratch_bytes = [](const ForwardProblem& p,
                          int64_t keys) { return neon_bf16::Scratch(nullptr, p, keys).bytes; },
      .panel_rows = neon_bf16::kPanel,
      .sum_stride = neon_bf16::sum_stride,
      .packing_keys = 16,
      .core_flop_per_us = 130e3};
  return kernel;
}

}  // namespace flashmoe::cpu

#pragma GCC pop_options
#endif
