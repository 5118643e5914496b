// SPDX-License-Identifier: MIT
// attend_tiled: the loop of every tiled kernel, whatever its instructions.
//
// The rows of a task are cut into panels, the keys into blocks. Blocks are the outer loop: K and V of a block
// are packed once and then met by every panel, while Q and the running output O, maximum m and sum l of all
// panels wait in scratch. The arithmetic is in `Ops`, one call for each panel and block, so that this file
// needs no SIMD:
//
// clang-format off
//   struct Ops {                                  // all static; layouts of packed data are its own affair
//     using Element = ...;                        // float, fp16 or bf16: what q, k, v and out hold
//     int64_t panel_rows();                       // query rows of a panel
//     int64_t block_keys();                       // keys of a block
//     int64_t q_panel_bytes(dim);                 // sizes of one packed panel or block
//     int64_t k_block_bytes(dim, keys), v_block_bytes(dim, keys);
//     int64_t weights_bytes(keys);                // P of one panel and one block
//     int64_t out_floats(dim);                    // O of one panel; all zeros is its start
//     void pack_q(task, row, rows, q);            // packed rows [row, row + rows); rows past them become zeros
//     void pack_k(task, key, keys, k);            // keys past `keys` become zeros, up to the end of their tile
//     bool pack_v(task, key, keys, v);            // the same; returns whether every element is finite
//     void absorb(step);                          // below
//     const float* out_row(out, row, dim, buffer);// a row of O as dim floats; may be gathered into `buffer`
//     void store(from, factor, dim, to);          // to[d] = from[d] * factor in Element, rounded to nearest even
//   };
// clang-format on
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "cpu/arena.h"
#include "cpu/cancel.h"
#include "cpu/heads.h"
#include "cpu/store_row.h"
#include "cpu/task.h"

namespace flashmoe::cpu {

// One panel meets one block: S = Q K^T; raise m to the new row maxima; P = exp2(S - m); l += row sums of P;
// O = O * exp2(old m - m) + P V. Scores are in units of log2: scale * log2(e) is part of them. Where the
// problem changes scores, that happens to S before all else; only kernels that do are chosen for it.
// Keys that a row does not see weigh exactly 0 and touch it in no way, even where V is not finite. While a
// row has seen nothing but -inf, its m stays -inf and its l stays 0. NaN and +inf scores make the row NaN.
struct PanelStep {
  const Task* task = nullptr;  // for kernels that read K and V in place, or change scores,
  int64_t row = 0;             // where the panel begins with this packed row,
  int64_t key = 0;             // and the block with this key
  const std::byte* q;          // the packed panel
  const std::byte* k;          // the packed block
  const std::byte* v;
  bool v_finite;      // what pack_v said
  float scale_log2e;  // for kernels that do not fold it into Q
  int64_t dim;
  int64_t rows;        // of the panel that exist; the others may be left as they are
  int64_t block_keys;  // keys that were packed
  // No row of the panel sees a key before first_key or from `keys` on; every row sees [full_begin, full_end).
  // 0 <= first_key <= full_begin <= full_end <= keys, and first_key < keys.
  int64_t first_key, keys;
  int64_t full_begin, full_end;
  const int32_t* begins;  // row r sees [begins[r], limits[r]); both are filled only where `cut()`
  const int32_t* limits;
  std::byte* weights;  // for P
  float* out;          // O, in the layout of Ops
  float* max;          // m and l of the panel's rows, in their order
  float* sum;

  // Some row sees not all of the first `keys` keys.
  bool cut() const { return full_begin > 0 || full_end < keys; }
  bool cut(int64_t begin, int64_t count) const { return begin < full_begin || begin + count > full_end; }
  Range seen_by(int64_t r) const { return cut() ? Range{begins[r], limits[r]} : Range{first_key, keys}; }
};

template <class Ops>
struct TiledScratch {
  std::byte *q, *k, *v, *weights;
  float *out, *max, *sum, *row;
  int32_t *begins, *limits;
  std::size_t bytes;

  TiledScratch() = default;
  TiledScratch(std::byte* base, const ForwardProblem& problem, int64_t rows) {
    const int64_t dim = problem.head_dim;
    const int64_t keys = std::min(Ops::block_keys(), problem.kv_rows);  // of the largest block
    const int64_t panels = ceil_div(rows, Ops::panel_rows());
    Arena arena(base);
    k = arena.take<std::byte>(Ops::k_block_bytes(dim, keys));
    v = arena.take<std::byte>(Ops::v_block_bytes(dim, keys));
    weights = arena.take<std::byte>(Ops::weights_bytes(keys));
    begins = arena.take<int32_t>(Ops::panel_rows());
    limits = arena.take<int32_t>(Ops::panel_rows());
    row = arena.take<float>(round_up(dim, 64));
    q = arena.take<std::byte>(panels * Ops::q_panel_bytes(dim));
    out = arena.take<float>(panels * Ops::out_floats(dim));
    max = arena.take<float>(panels * Ops::panel_rows());
    sum = arena.take<float>(panels * Ops::panel_rows());
    bytes = arena.bytes();
  }
};

template <class Ops>
std::size_t tiled_scratch_bytes(const ForwardProblem& problem, int64_t rows) {
  return TiledScratch<Ops>(nullptr, problem, rows).bytes;
}

// A task of one head on its way.
template <class Ops>
class TiledTask {
 public:
  TiledTask() = default;
  explicit TiledTask(const Task& task)
      : task_(task), rows_(task.row_end - task.row_begin), scratch_(task.scratch, *task.problem, rows_) {
    const int64_t dim = task.problem->head_dim;
    const int64_t panel_rows = Ops::panel_rows();
    std::fill_n(scratch_.out, panels() * Ops::out_floats(dim), 0.0F);
    std::fill_n(scratch_.max, panels() * panel_rows, -std::numeric_limits<float>::infinity());
    std::fill_n(scratch_.sum, panels() * panel_rows, 0.0F);
    for (int64_t i = 0; i < panels(); ++i) {
      Ops::pack_q(task, task.row_begin + i * panel_rows, std::min(panel_rows, rows_ - i * panel_rows),
                  scratch_.q + i * Ops::q_panel_bytes(dim));
    }
  }

  // What the rows see, each a part of it.
  Range keys() const { return {run_of(0).begin, run_of(rows_ - 1).end}; }

  // All rows meet the block of keys from `begin` on.
  void meet(int64_t begin) const;

  void finish() const;

 private:
  int64_t panels() const { return ceil_div(rows_, Ops::panel_rows()); }

  // What panel row i sees of the task's keys. Rows past the end see what the last one sees.
  Range run_of(int64_t i) const {
    const ForwardProblem& p = *task_.problem;
    const Range seen = p.visible((task_.row_begin + std::min(i, rows_ - 1)) / p.group());
    return {std::max(task_.kv_begin, seen.begin), std::min(task_.kv_end, seen.end)};
  }

  Task task_{};
  int64_t rows_ = 0;
  TiledScratch<Ops> scratch_;
};

template <class Ops>
void TiledTask<Ops>::meet(int64_t begin) const {
  const ForwardProblem& p = *task_.problem;
  const int64_t dim = p.head_dim;
  const int64_t panel_rows = Ops::panel_rows();
  const int64_t block_keys = std::min(Ops::block_keys(), keys().end - begin);
  Ops::pack_k(task_, begin, block_keys, scratch_.k);
  const bool v_finite = Ops::pack_v(task_, begin, block_keys, scratch_.v);
  for (int64_t i = 0; i < panels(); ++i) {
    const int64_t first = i * panel_rows;
    const Range lowest = run_of(first), highest = run_of(first + panel_rows - 1);
    const int64_t keys = std::min(block_keys, highest.end - begin);
    const int64_t first_key = std::max<int64_t>(lowest.begin - begin, 0);
    if (keys <= first_key) continue;
    int64_t full_begin = std::clamp<int64_t>(highest.begin - begin, 0, keys);
    int64_t full_end = std::clamp<int64_t>(lowest.end - begin, 0, keys);
    if (full_end <= full_begin) full_begin = full_end = keys;  // there are none
    if (full_begin > 0 || full_end < keys) {
      for (int64_t r = 0; r < panel_rows; ++r) {
        const Range seen = run_of(first + r);
        scratch_.begins[r] = static_cast<int32_t>(std::clamp<int64_t>(seen.begin - begin, 0, keys));
        scratch_.limits[r] = static_cast<int32_t>(std::clamp<int64_t>(seen.end - begin, 0, keys));
      }
    }
    Ops::absorb(PanelStep{.task = &task_,
                          .row = task_.row_begin + first,
                          .key = begin,
                          .q = scratch_.q + i * Ops::q_panel_bytes(dim),
                          .k = scratch_.k,
                          .v = scratch_.v,
                          .v_finite = v_finite,
                          .scale_log2e = p.scale * kLog2E,
                          .dim = dim,
                          .rows = std::min(panel_rows, rows_ - first),
                          .block_keys = block_keys,
                          .first_key = first_key,
                          .keys = keys,
                          .full_begin = full_begin,
                          .full_end = full_end,
                          .begins = scratch_.begins,
                          .limits = scratch_.limits,
                          .weights = scratch_.weights,
                          .out = scratch_.out + i * Ops::out_floats(dim),
                          .max = scratch_.max + first,
                          .sum = scratch_.sum + first});
  }
}

template <class Ops>
void TiledTask<Ops>::finish() const {
  using T = typename Ops::Element;
  const ForwardProblem& p = *task_.problem;
  const int64_t panel_rows = Ops::panel_rows();
  int64_t position = task_.row_begin / p.group();
  int64_t head = task_.row_begin % p.group();
  for (int64_t i = 0; i < rows_; ++i) {
    const float* panel_out = scratch_.out + i / panel_rows * Ops::out_floats(p.head_dim);
    const float* weighted = Ops::out_row(panel_out, i % panel_rows, p.head_dim, scratch_.row);
    const RowState state{scratch_.max[i], scratch_.sum[i]};
    if (task_.partial_out != nullptr) {
      std::copy_n(weighted, p.head_dim, task_.partial_out + i * p.head_dim);
      task_.partial_max[i] = state.max;
      task_.partial_sum[i] = state.sum;
    } else {
      T* out = static_cast<T*>(task_.out) + head * task_.out_head_stride + position * task_.out_row_stride;
      const RowEnd end(task_, head, state);
      Ops::store(weighted, end.factor, p.head_dim, out);
      if (task_.lse != nullptr) task_.lse[head * task_.lse_head_stride + position] = end.lse;
    }
    if (++head == p.group()) {
      head = 0;
      ++position;
    }
  }
}

template <class Ops>
void attend_tiled(const Task& task) {
  const TiledTask<Ops> tiled(task);
  const Range keys = tiled.keys();
  for (int64_t begin = keys.begin; begin < keys.end && !is_cancelled(task.cancel); begin += Ops::block_keys())
    tiled.meet(begin);
  tiled.finish();
}

// The same for kernels that read K and V in place and take several heads. Where those lie side by side, they
// take turns after every block: else each would fetch rows of which it uses a small part.
template <class Ops>
void attend_tiled_heads(const Task& task) {
  const int64_t rows = task.row_end - task.row_begin;
  const int64_t bytes =
      round_up(static_cast<int64_t>(tiled_scratch_bytes<Ops>(*task.problem, rows)), kCacheLine);
  const auto head = [&](int64_t h) { return head_of<typename Ops::Element>(task, h, bytes); };
  if (!are_inside_rows(task)) {
    for (int64_t h = 0; h < task.heads; ++h) attend_tiled<Ops>(head(h));
    return;
  }
  // A few lines of a row end before the hardware begins to fetch ahead.
  const bool are_short = task.problem->head_dim * sizeof(typename Ops::Element) <= 2 * kCacheLine;
  TiledTask<Ops> tiled[kMostHeads];
  for (int64_t h = 0; h < task.heads; ++h) {
    Task one = head(h);
    if (are_short) {
      one.k_next = h + 1 < task.heads ? task.k_heads_stride
                                      : Ops::block_keys() * task.k_row_stride - h * task.k_heads_stride;
    }
    tiled[h] = TiledTask<Ops>(one);
  }
  const Range keys = tiled[0].keys();
  for (int64_t begin = keys.begin; begin < keys.end && !is_cancelled(task.cancel);
       begin += Ops::block_keys()) {
    for (int64_t h = 0; h < task.heads; ++h) tiled[h].meet(begin);
  }
  for (int64_t h = 0; h < task.heads; ++h) tiled[h].finish();
}

}  // namespace flashmoe::cpu
