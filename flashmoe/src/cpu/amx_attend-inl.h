// SPDX-License-Identifier: MIT
// attend: a task in bf16 on tile registers. S = Q K^T and O += P V run on the tile unit, softmax on the
// vector units.
//
// Bound: the exponential at D <= 64 (about 6 cycles for 16 scores), the tile unit above (16 cycles for 16 x
// 16 x 32). Rows are cut into panels of 32, keys into blocks of 128; one panel meeting one block is an item.
// K and V of a block are packed once and met by all panels. Items are worked off as a pipeline of three:
// while item i is exponentiated row by row, the tile unit gets, between the rows, Q K^T of item i + 1 and
// then P V of item i - 1: in this order the next softmax finds its scores in memory.
#pragma once

#include <algorithm>

#include "cpu/amx_softmax-inl.h"
#include "cpu/arena.h"
#include "cpu/store_row.h"

namespace flashmoe::cpu::amx {
namespace {

// More rows than these are worked off in turns, K and V packed anew for each: scratch stays within the L2
// cache.
constexpr int64_t kMaxRows = 512;

inline int64_t slices(int64_t dim) { return ceil_div(dim, kSliceDims); }

struct Scratch {
  std::byte *s[2], *p[2], *k[2] = {}, *v[2] = {}, *q, *o;
  PanelState* state;
  bool* fresh;
  std::size_t bytes;

  Scratch(std::byte* base, const ForwardProblem& problem, int64_t rows) {
    const int64_t panels = ceil_div(std::min(rows, kMaxRows), kPanelRows);
    const int64_t depth = slices(problem.head_dim);
    const int64_t blocks =
        std::min<int64_t>(2, ceil_div(problem.kv_rows, kBlockKeys));  // that are ever packed
    const int64_t chunks = std::min(kBlockChunks, ceil_div(problem.kv_rows, kChunkKeys));
    Arena arena(base);
    for (std::byte*& each : s) each = arena.take<std::byte>(4 * kBlockChunks * kTileBytes);
    for (std::byte*& each : p) each = arena.take<std::byte>(2 * kBlockChunks * kTileBytes);
    for (int64_t i = 0; i < blocks; ++i) k[i] = arena.take<std::byte>(2 * chunks * depth * kTileBytes);
    for (int64_t i = 0; i < blocks; ++i) v[i] = arena.take<std::byte>(2 * chunks * depth * kTileBytes);
    state = arena.take<PanelState>(panels);
    fresh = arena.take<bool>(panels);
    q = arena.take<std::byte>(panels * 2 * depth * kTileBytes);
    o = arena.take<std::byte>(panels * 4 * depth * kTileBytes);
    bytes = arena.bytes();
  }
};

// At most kMaxRows rows of a task.
template <class Tiles>
class RowsAttention {
 public:
  RowsAttention(const Task& task, int64_t row_begin, int64_t rows)
      : task_(task),
        problem_(*task.problem),
        row_begin_(row_begin),
        rows_(rows),
        panels_(ceil_div(rows, kPanelRows)),
        depth_(slices(problem_.head_dim)),
        scale_log2e_(std::abs(problem_.scale) * kLog2E),
        kv_begin_(run_of(0).begin),
        kv_end_(run_of(rows - 1).end),
        scratch_(task.scratch, problem_, rows) {}

  void run() {
    for (int64_t i = 0; i < panels_; ++i) {
      pack_q(task_, row_begin_ + i * kPanelRows, rows_of(i), scratch_.q + i * 2 * depth_ * kTileBytes);
      scratch_.state[i].reset();
      scratch_.fresh[i] = true;
    }
    Item item = first_item();
    if (item.exists) {
      pack(item);
      scores_ = score_product(item);
      finish(scores_);
    }
    while (item.exists) {
      const Item next = item_after(item);
      if (next.exists && next.key != item.key) {
        finish(output_);  // it may read the buffer that is packed now
        pack(next);
      }
      scores_ = next.exists ? score_product(next) : ScoreProduct<Tiles>();
      absorb(item);
      item = next;
    }
    finish(output_);
    for (int64_t i = 0; i < panels_; ++i) store_panel(i);
  }

 private:
  struct Item {
    bool exists;
    int64_t panel;
    int64_t key;     // the block's first
    int64_t number;  // items in turn use the two buffers for S and P
    Visible visible;
  };

  // What a row sees of the task's keys.
  Range run_of(int64_t row) const {
    const Range seen = problem_.visible((row_begin_ + row) / problem_.group());
    return {std::max(task_.kv_begin, seen.begin), std::min(task_.kv_end, seen.end)};
  }
  int64_t rows_of(int64_t panel) const { return std::min(kPanelRows, rows_ - panel * kPanelRows); }
  bool two_row_tiles(const Item& item) const { return item.visible.rows > kTileRows; }
  int64_t parity(const Item& item) const { return item.number % 2; }
  int64_t block_parity(const Item& item) const { return (item.key - kv_begin_) / kBlockKeys % 2; }

  Item first_item() const {
    Item before{.exists = true, .panel = -1, .key = kv_begin_, .number = -1, .visible = {}};
    return item_after(before);
  }

  // Panel by panel, then on to the next block; panels that see nothing of a block are left out.
  Item item_after(const Item& before) const {
    Item item{
        .exists = true, .panel = before.panel, .key = before.key, .number = before.number + 1, .visible = {}};
    for (;;) {
      if (++item.panel == panels_) {
        item.panel = 0;
        item.key += kBlockKeys;
      }
      if (item.key >= kv_end_) return {.exists = false, .panel = 0, .key = 0, .number = 0, .visible = {}};
      const int64_t first = item.panel * kPanelRows;
      const int64_t rows = rows_of(item.panel);
      const Range lowest = run_of(first), highest = run_of(first + rows - 1);
      const int64_t keys = std::min(kBlockKeys, highest.end - item.key);
      if (keys <= std::max<int64_t>(lowest.begin - item.key, 0)) continue;
      Visible& visible = item.visible;
      visible.rows = rows;
      visible.keys = keys;
      visible.full_begin = std::clamp<int64_t>(highest.begin - item.key, 0, keys);
      visible.full_end = std::clamp<int64_t>(lowest.end - item.key, visible.full_begin, keys);
      if (visible.cut()) {
        for (int64_t r = 0; r < rows; ++r) {
          const Range seen = run_of(first + r);
          visible.begins[r] = static_cast<int32_t>(std::clamp<int64_t>(seen.begin - item.key, 0, keys));
          visible.limits[r] = static_cast<int32_t>(std::clamp<int64_t>(seen.end - item.key, 0, keys));
        }
      }
      return item;
    }
  }

  void pack(const Item& item) {
    const int64_t keys = std::min(kBlockKeys, kv_end_ - item.key);
    const int64_t ahead = std::min(kBlockKeys, kv_end_ - item.key - kBlockKeys);
    pack_k(task_, item.key, keys, ahead, scratch_.k[block_parity(item)]);
    v_finite_[block_parity(item)] = pack_v(task_, item.key, keys, ahead, scratch_.v[block_parity(item)]);
  }

  std::byte* out_of(int64_t panel) const { return scratch_.o + panel * 4 * depth_ * kTileBytes; }

  ScoreProduct<Tiles> score_product(const Item& item) const {
    return {scratch_.q + item.panel * 2 * depth_ * kTileBytes,
            scratch_.k[block_parity(item)],
            scratch_.s[parity(item)],
            depth_,
            item.visible.chunks(),
            two_row_tiles(item)};
  }

  // Softmax of the item, with the steps of output_ and scores_ in between; then its own P V is the next
  // output_.
  void absorb(const Item& item) {
    std::byte* s = scratch_.s[parity(item)];
    std::byte* p = scratch_.p[parity(item)];
    PanelState& state = scratch_.state[item.panel];
    bool& fresh = scratch_.fresh[item.panel];
    hide_first_keys(s, item.visible);
    raise_bases(s, item.visible, scale_log2e_, state, out_of(item.panel), fresh, depth_,
                [&] { finish(output_); });

    const int64_t steps = output_.steps_left() + scores_.steps_left();
    int64_t due = 0;
    const auto between_rows = [&](int64_t) {
      for (due += steps; due >= item.visible.rows; due -= item.visible.rows) {
        if (scores_.steps_left() > 0) {
          scores_.step();
        } else {
          output_.step();
        }
      }
    };
    if (item.visible.whole_block()) {
      weigh_panel<true>(s, p, item.visible, scale_log2e_, state, between_rows);
    } else {
      weigh_panel<false>(s, p, item.visible, scale_log2e_, state, between_rows);
    }

    const bool careful = !v_finite_[block_parity(item)] && item.visible.cut();
    // Where first keys are hidden no chunk is taken whole: such blocks are few.
    const int64_t whole = item.visible.full_begin > 0 ? 0 : item.visible.full_end / kChunkKeys;
    const int64_t chunks = careful ? whole : item.visible.chunks();
    output_ = {p,    scratch_.v[block_parity(item)], out_of(item.panel), depth_, chunks, two_row_tiles(item),
               fresh};
    if (careful) add_seen_values(item, chunks, p);
    fresh = false;
  }

  // The keys of the item from chunk `chunks` on, row by row: where a value that some rows see is not finite,
  // a weight of 0 would not keep it from the others.
  void add_seen_values(const Item& item, int64_t chunks, std::byte* p) {
    std::byte* o = out_of(item.panel);
    if (chunks > 0) {
      finish(output_);
    } else if (scratch_.fresh[item.panel]) {
      std::fill_n(o, 4 * depth_ * kTileBytes, std::byte{0});
    }
    for (int64_t r = 0; r < item.visible.rows; ++r) {
      const int64_t first = std::max<int64_t>(chunks * kChunkKeys, item.visible.begins[r]);
      for (int64_t key = first; key < item.visible.limits[r]; ++key) {
        bf16 weight;
        std::memcpy(&weight, weight_row(p, r) + key / kChunkKeys * kTileBytes + key % kChunkKeys * 2,
                    sizeof weight);
        const bf16* v = static_cast<const bf16*>(task_.v) + (item.key + key) * task_.v_row_stride;
        for (int64_t d = 0; d < problem_.head_dim; ++d) {
          const int64_t tile = r / kTileRows * 2 * depth_ + d / kSliceDims * 2 + d % 8 / 4;
          const int64_t lane = d % kSliceDims / 8 * 4 + d % 4;
          float& sum = reinterpret_cast<float*>(o + tile * kTileBytes + r % kTileRows * 64)[lane];
          sum += to_float(weight) * to_float(v[d]);
        }
      }
    }
  }

  void store_panel(int64_t panel) const {
    const PanelState& state = scratch_.state[panel];
    const std::byte* o = out_of(panel);
    for (int64_t first = 0; first < rows_of(panel); first += kTileRows, o += 2 * depth_ * kTileBytes) {
      Floats rows[kTileRows];
      for (int64_t r = 0; r < kTileRows; ++r) rows[r] = load(state.sums[first + r]);
      const Floats sums = row_sums(rows);
      const Lanes seen = not_equal(sums, splat(0.0F));
      alignas(64) float sum[kTileRows];
      alignas(64) float factor[kTileRows];
      store(sum, sums);
      store(factor, task_.partial_out != nullptr ? splat(1.0F) : divide(splat(1.0F), sums));
      for (int64_t r = 0; r < std::min(kTileRows, rows_of(panel) - first); ++r) {
        store_row(row_begin_ + panel * kPanelRows + first + r, o + r * 64, (seen >> r & 1) != 0, factor[r],
                  {state.base[first + r], sum[r]});
      }
    }
  }

  void store_row(int64_t row, const std::byte* o, bool seen, float factor, RowState state) const {
    const int64_t dim = problem_.head_dim;
    const auto columns = [&](auto* to) {
      for (int64_t d = 0; d < dim; d += kSliceDims, o += 2 * kTileBytes) {
        // O of a row that has seen nothing may not even be there.
        const Lanes lanes = seen ? Lanes{0xFFFF} : Lanes{0};
        const Floats low = keep(lanes, multiply(load(reinterpret_cast<const float*>(o)), splat(factor)));
        const Floats high =
            keep(lanes, multiply(load(reinterpret_cast<const float*>(o + kTileBytes)), splat(factor)));
        store_columns(to + d, dim - d, low, high);
      }
    };
    if (task_.partial_out != nullptr) {
      const int64_t i = row - task_.row_begin;
      columns(task_.partial_out + i * dim);
      task_.partial_max[i] = state.max;
      task_.partial_sum[i] = state.sum;
      return;
    }
    const int64_t position = row / problem_.group();
    const int64_t head = row % problem_.group();
    const RowEnd end(task_, head, state);
    if (task_.scores.sinks != nullptr) factor = end.factor;
    columns(static_cast<bf16*>(task_.out) + head * task_.out_head_stride + position * task_.out_row_stride);
    if (task_.lse != nullptr) task_.lse[head * task_.lse_head_stride + position] = end.lse;
  }

  const Task& task_;
  const ForwardProblem& problem_;
  const int64_t row_begin_, rows_, panels_, depth_;
  const float scale_log2e_;
  const int64_t kv_begin_, kv_end_;
  const Scratch scratch_;
  bool v_finite_[2] = {true, true};
  ScoreProduct<Tiles> scores_;   // of the item to come
  OutputProduct<Tiles> output_;  // of the item before
};

template <class Tiles>
void attend(const Task& task) {
  const typename Tiles::InUse tiles_in_use;
  for (int64_t row = task.row_begin; row < task.row_end; row += kMaxRows) {
    RowsAttention<Tiles>(task, row, std::min(kMaxRows, task.row_end - row)).run();
  }
}

inline std::size_t scratch_bytes(const ForwardProblem& problem, int64_t rows) {
  return Scratch(nullptr, problem, rows).bytes;
}

}  // namespace
}  // namespace flashmoe::cpu::amx
