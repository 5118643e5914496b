// SPDX-License-Identifier: MIT
// What a block of ampere_forward has to do, and what a warp of it keeps while it does.
#pragma once

#include <cstdint>

#include "kernels/ampere_forward/spec.h"
#include "kernels/forward_params.h"
#include "primitives/index.h"

namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET {

// The block's share of the problem.
struct Work {
  int batch, head, kv_head;  // head: the first query head of the tile
  int first_row, rows;       // packed query rows
  int tile_begin, tile_end;  // tiles of keys
};

// Of a packed row.
__device__ __forceinline__ int position_of(const ForwardParams& p, int packed_row) {
  return static_cast<int>(p.by_pack.divide(static_cast<uint32_t>(packed_row)));
}

template <class Spec>
__device__ __forceinline__ Work find_work(const ForwardParams& p, int block) {
  const TileOrder::Tile tile = p.order.tile(static_cast<unsigned>(block));
  const int packed_rows = p.q_rows * p.pack;
  Work work;
  work.batch = tile.batch;
  work.head = tile.head * p.pack;
  work.kv_head = static_cast<int>(p.by_group.divide(static_cast<uint32_t>(work.head)));
  work.first_row = tile.q_tile * Spec::tuning.tile_q;
  const int left = packed_rows - work.first_row;
  work.rows = left < Spec::tuning.tile_q ? left : Spec::tuning.tile_q;
  const int keys = p.visible_keys(position_of(p, work.first_row + work.rows - 1));
  const int tiles = (keys + Spec::tuning.tile_kv - 1) / Spec::tuning.tile_kv;
  const auto split = static_cast<int>(gpu::block_index_y());
  work.tile_begin = p.first_of_split(tiles, split);
  work.tile_end = p.first_of_split(tiles, split + 1);
  return work;
}

// Element (packed row, 0) of q or out, relative to the view's head `work.head` of batch `work.batch`.
__device__ __forceinline__ int64_t packed_offset(const View& view, const ForwardParams& p, int packed_row) {
  const int position = position_of(p, packed_row);
  return (packed_row - position * p.pack) * view.head_stride + position * view.row_stride;
}

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
