// SPDX-License-Identifier: MIT
// What a block of ampere_forward has to do, and what a warp of it keeps while it does.
#pragma once

#include <cstdint>

#include "kernels/ampere_forward/spec.h"
#include "kernels/forward_params.h"
#include "kernels/runs.h"
#include "primitives/index.h"

namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET {

// The block's share of the problem.
struct Work {
  int batch, head, kv_head;  // head: the first query head of the tile
  int first_row, rows;       // packed query rows
  int tile_begin, tile_end;  // tiles of keys

  // What a problem in its general form has otherwise (general.cuh).
  static __device__ constexpr bool exists() { return true; }
  __device__ __forceinline__ int k_batch() const { return batch; }
  static __device__ __forceinline__ int kv_rows(const ForwardParams& p) { return p.kv_rows; }
};

// Of a packed row.
__device__ __forceinline__ int position_of(const ForwardParams& p, int packed_row) {
  return static_cast<int>(p.by_pack.divide(static_cast<uint32_t>(packed_row)));
}

// What rows see, as a kernel is compiled for it: every key up to one, beside the first ...
struct FromFirstKey {
  static constexpr bool begins_anywhere = false;
  static constexpr bool changes_scores = false;
  static constexpr bool drops_weights = false;
  static constexpr bool has_gaps = false;
  static constexpr bool has_pairs = false;

  __device__ __forceinline__ Run visible(const ForwardParams& p, const Work&, int position) const {
    return {0, p.visible_keys(position)};
  }
};

// ... or a run of keys that may begin anywhere.
struct FromAnyKey {
  static constexpr bool begins_anywhere = true;
  static constexpr bool changes_scores = false;
  static constexpr bool drops_weights = false;
  static constexpr bool has_gaps = false;
  static constexpr bool has_pairs = false;
  const Runs& runs;

  __device__ __forceinline__ Run visible(const ForwardParams& p, const Work&, int position) const {
    return runs.visible(position, p.q_rows, p.kv_rows);
  }
  // What stays of a packed row's scores in a tile, as runs.h has it; the lane's first column is key `first`.
  __device__ __forceinline__ uint32_t kept(const ForwardParams& p, const Work& work, int row,
                                           int first) const {
    const Run seen = visible(p, work, position_of(p, row));
    return elements_between(seen.begin - first, seen.end - first);
  }
};

template <class Spec, class Sight>
__device__ __forceinline__ Work find_work(const ForwardParams& p, const Sight& sight, int block) {
  const TileOrder::Tile tile = p.order.tile(static_cast<unsigned>(block));
  const int packed_rows = p.q_rows * p.pack;
  Work work;
  work.batch = tile.batch;
  work.head = tile.head * p.pack;
  work.kv_head = static_cast<int>(p.by_group.divide(static_cast<uint32_t>(work.head)));
  work.first_row = tile.q_tile * Spec::tuning.tile_q;
  const int left = packed_rows - work.first_row;
  work.rows = left < Spec::tuning.tile_q ? left : Spec::tuning.tile_q;
  constexpr int kTileKv = Spec::tuning.tile_kv;
  const int keys = sight.visible(p, work, position_of(p, work.first_row + work.rows - 1)).end;
  int tiles = (keys + kTileKv - 1) / kTileKv;
  int first = 0;
  if constexpr (Sight::begins_anywhere) {
    first = sight.visible(p, work, position_of(p, work.first_row)).begin / kTileKv;
    tiles = tiles < first ? 0 : tiles - first;
  }
  const auto split = static_cast<int>(gpu::block_index_y());
  work.tile_begin = first + p.first_of_split(tiles, split);
  work.tile_end = first + p.first_of_split(tiles, split + 1);
  return work;
}

// Element (packed row, 0) of q or out, relative to the view's head `work.head` of batch `work.batch`.
__device__ __forceinline__ int64_t packed_offset(const View& view, const ForwardParams& p, int packed_row) {
  const int position = position_of(p, packed_row);
  return (packed_row - position * p.pack) * view.head_stride + position * view.row_stride;
}

// Of this warp's rows and one tile of keys.
template <class Spec>
using Scores = float[Spec::row_tiles][Spec::key_tiles][4];

// Running softmax of this warp's rows: lane (g, t) has rows g and g + 8 of each tile of 16, and of every 8
// columns the pair 2t, 2t + 1.
template <class Spec>
struct State {
  float O[Spec::row_tiles][Spec::dim_tiles][4];
  float m[Spec::row_tiles]
         [2];  // largest score so far times scale_log2e, or up to kSlack less; -inf: no key seen
  float l[Spec::row_tiles][2];  // sum so far over this lane's columns
};

}  // namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET
