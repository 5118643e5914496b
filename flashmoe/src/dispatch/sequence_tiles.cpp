// SPDX-License-Identifier: MIT
#include "dispatch/sequence_tiles.h"

#include <algorithm>
#include <limits>

#include "numeric/ceil_div.h"

namespace flashmoe::dispatch {
namespace {

using kernels::SequenceTile;
namespace prepare = kernels::prepare_lengths;

int64_t most_tiles(const ForwardProblem& p, bool packed, int64_t rows, int tile_rows) {
  if (p.q_rows == 0 || p.kv_rows == 0) return 0;
  if (!packed) return p.lengths.sequences * ceil_div(rows, int64_t{tile_rows});
  // A sequence wastes less than a tile, and no tile is empty.
  return std::min(rows, rows / tile_rows + p.lengths.sequences);
}

std::size_t list_bytes(int64_t tiles) {
  return ceil_div(static_cast<std::size_t>(tiles) * sizeof(SequenceTile), kWorkspaceAlignment) *
         kWorkspaceAlignment;
}

std::size_t lists_bytes(const ForwardProblem& p, const TileLists& lists) {
  return (lists.tile_q > 0 ? list_bytes(most_q_tiles(p, lists.tile_q)) : 0) +
         (lists.tile_kv > 0 ? list_bytes(most_k_tiles(p, lists.tile_kv)) : 0);
}

// Of one side of the window, as an int; no tensor has more rows than kMost.
constexpr int kMost = 1 << 30;
int side_of(int64_t keys) { return static_cast<int>(std::min<int64_t>(keys, kMost)); }

prepare::Side side(const int32_t* starts, const int32_t* used, int64_t batch, int64_t rows) {
  return {.starts = starts,
          .used = used,
          .batch = static_cast<int>(starts != nullptr ? 1 : batch),
          .rows = static_cast<int>(rows)};
}

}  // namespace

int64_t most_q_tiles(const ForwardProblem& p, int tile_rows) {
  return most_tiles(p, p.lengths.q_packed, p.q_rows, tile_rows);
}
int64_t most_k_tiles(const ForwardProblem& p, int tile_rows) {
  return most_tiles(p, p.lengths.k_packed, p.kv_rows, tile_rows);
}

std::size_t with_tile_lists(std::size_t bytes, const ForwardProblem& p, const TileLists& lists) {
  return ceil_div(bytes, kWorkspaceAlignment) * kWorkspaceAlignment + lists_bytes(p, lists);
}

prepare::Params length_params(const ForwardProblem& p, const Lengths& lengths, const TileLists& lists,
                              Workspace workspace) {
  prepare::Params params{};
  params.q = side(lengths.q_starts, lengths.q_used, lengths.sequences, p.q_rows);
  params.k = side(lengths.k_starts, lengths.k_used, lengths.sequences, p.kv_rows);
  params.sequences = static_cast<int>(lengths.sequences);
  params.rule = {.left = side_of(p.window.left),
                 .right = side_of(p.keys_behind()),
                 .from_first = p.mask == Mask::causal_top_left};
  params.head_dim = static_cast<int>(p.head_dim);
  params.element_bytes = static_cast<int>(element_bytes(p.dtype));
  auto* place = static_cast<std::byte*>(workspace.data) + workspace.bytes - lists_bytes(p, lists);
  const auto add = [&](int tile_rows, int64_t tiles, bool of_keys) {
    const int64_t sides = int64_t{params.rule.left} + params.rule.right + tile_rows;
    params.lists[params.num_lists++] = {.tiles = reinterpret_cast<SequenceTile*>(place),
                                        .capacity = static_cast<int>(tiles),
                                        .tile_rows = tile_rows,
                                        .of_keys = of_keys,
                                        .from_end = lists.from_end,
                                        .last_first = of_keys && lists.last_first,
                                        .most_work = static_cast<int>(std::min<int64_t>(sides, kMost))};
    place += list_bytes(tiles);
  };
  if (lists.tile_q > 0) add(lists.tile_q, most_q_tiles(p, lists.tile_q), false);
  if (lists.tile_kv > 0) add(lists.tile_kv, most_k_tiles(p, lists.tile_kv), true);
  return params;
}

kernels::SequenceTiles sequence_tiles(const ForwardProblem& p, const prepare::Params& params, int list) {
  return {.tiles = params.lists[list].tiles,
          .lse_stride = p.lengths.q_packed ? 1 : p.q_heads * p.q_rows,
          .rule = params.rule};
}

kernels::Places places_of(const ForwardProblem& p) {
  return {.q = p.lengths.q_packed ? p.q_rows : p.lengths.sequences,
          .k = p.lengths.k_packed ? p.kv_rows : p.lengths.sequences};
}

kernels::View view_by_place(const kernels::View& view, bool packed) {
  return {view.data, packed ? view.row_stride : view.batch_stride, view.head_stride, view.row_stride};
}

}  // namespace flashmoe::dispatch
