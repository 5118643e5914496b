// SPDX-License-Identifier: MIT
// Which tiles a block computes, in which order, and how they walk the rings of stages: what loader and math
// agree on.
#pragma once

#include <cstdint>

#include "kernels/hopper_forward/params.h"
#include "kernels/hopper_forward/smem.h"
#include "kernels/load_row_table.h"
#include "primitives/index.h"
#include "primitives/memory.h"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

// The end of what a row sees.
template <class Spec>
__device__ __forceinline__ int visible_keys(const Params& params, int packed_row) {
  if constexpr (Spec::runs) return params.visible(packed_row).end;
  return Spec::visible == Visible::causal ? params.problem.visible_keys(params.unpack(packed_row))
                                          : params.problem.kv_rows;
}

// Blocks of keys that hold all that packed rows before `end` see.
template <class Spec>
__device__ __forceinline__ int blocks_seen(const Params& params, int end) {
  const int packed_rows = params.problem.q_rows << params.pack_shift;
  const int keys = visible_keys<Spec>(params, (end < packed_rows ? end : packed_rows) - 1);
  return keys == 0 ? 1 : (keys + Spec::tile_kv - 1) / Spec::tile_kv;
}

// What the table says of a warpgroup's rows, or, where it has none, of the last that there are.
template <class Spec>
__device__ __forceinline__ TileRuns runs_of_warpgroup(const Params& params, const Tile& tile, int warpgroup) {
  const int group = tile.first_row / kTableTile + warpgroup;
  if constexpr (!Spec::by_rows) {
    const PairBits& bits = params.bits;
    const int tiles = bits.padded_rows / kTableTile;
    return gpu::load_global(bits.tiles + bits.entry(tile.batch, tile.head) * tiles +
                            (group < tiles ? group : tiles - 1));
  }
  const int last = params.table.padded_rows / kTableTile - 1;
  return load_tile(params.table, tile.batch, group < last ? group : last);
}

// What a row of a sequence sees; one before its first sees what that would.
__device__ __forceinline__ Run run_of_row(const TileOfSequence& tile, int row) {
  const int begin = row + tile.run_begin, end = row + tile.run_end;
  return {begin < tile.hidden ? tile.hidden : begin, end < tile.keys_end ? end : tile.keys_end};
}

// Blocks of keys up to the one that ends what rows see; at least one.
template <class Spec>
__device__ __forceinline__ int blocks_before(int end) {
  return end == 0 ? 1 : (end + Spec::tile_kv - 1) / Spec::tile_kv;
}

// The tile's blocks of keys: those that any of its rows sees, or one if they see none.
template <class Spec>
__device__ __forceinline__ void set_blocks(const Params& params, Tile& tile) {
  int begin = kNobody, end = 0;
#pragma unroll
  for (int w = 0; w < Spec::math_warpgroups; ++w) {
    const TileRuns seen = runs_of_warpgroup<Spec>(params, tile, w);
    if (seen.min_begin < begin) begin = seen.min_begin;
    if (seen.max_end > end) end = seen.max_end;
  }
  tile.first_block = begin < end ? begin / Spec::tile_kv : 0;
  tile.blocks = blocks_before<Spec>(end) - tile.first_block;
}

// The tile that the list has under this number; false where it has none.
template <class Spec>
__device__ __forceinline__ bool find_listed(const Params& params, unsigned number, TileOfSequence& tile) {
  const ForwardParams& p = params.problem;
  const TileOrder::Tile place = p.order.tile(number);
  const SequenceTile own = gpu::load_global(params.sequences.tiles + place.q_tile);
  if (own.sequence == kNoSequence) return false;
  tile.batch = own.q_place;
  tile.k_place = own.k_place;
  tile.head = place.head;
  tile.kv_head = static_cast<int>(p.by_group.divide(static_cast<uint32_t>(tile.head)));
  tile.first_row = own.first_row;
  const Runs runs = params.sequences.rule.runs(own.q_rows, own.k_rows);
  tile.keys_end = (own.k_rows + Spec::tile_kv - 1) / Spec::tile_kv * Spec::tile_kv;
  tile.hidden = tile.keys_end - own.k_rows;
  tile.run_begin = runs.begin + tile.hidden;
  tile.run_end = runs.end + tile.hidden;
  const int begin = run_of_row(tile, tile.first_row < 0 ? 0 : tile.first_row).begin;
  const int end = run_of_row(tile, tile.first_row + Spec::tile_q - 1).end;
  const bool sees_any = begin < end;
  tile.first_block = sees_any ? begin / Spec::tile_kv : 0;
  tile.blocks = sees_any ? (end + Spec::tile_kv - 1) / Spec::tile_kv - tile.first_block : 1;
  return true;
}

// The block's tile number `round`; false when there is none. Where work per tile falls from first to last
// (causal), a block that begins a round with the longest begins the next with the shortest: sums stay even
// without a counter that all blocks share, and nothing has to be reset between launches. Loader and math
// warpgroups each work it out for themselves: what a warp reads from shared memory the compiler takes for
// different in every lane, and loops and addresses that follow from it would leave the uniform registers.
template <class Spec>
__device__ __forceinline__ bool find_tile(const Params& params, unsigned round, TileFor<Spec>& tile) {
  const ForwardParams& p = params.problem;
  const unsigned block = gpu::block_index();
  const unsigned number = round * params.blocks + (round % 2 == 0 ? block : params.blocks - 1 - block);
  if (number >= params.tiles) return false;
  if constexpr (Spec::lengths) return find_listed<Spec>(params, number, tile);
  const unsigned whole = Spec::tuning.splits ? p.by_splits.divide(number) : number;
  const TileOrder::Tile place = p.order.tile(whole);
  tile.batch = place.batch;
  tile.head = place.head << params.pack_shift;
  tile.kv_head = static_cast<int>(p.by_group.divide(static_cast<uint32_t>(tile.head)));
  tile.first_row = place.q_tile * Spec::tile_q;
  tile.split = static_cast<int>(number - whole * static_cast<unsigned>(p.num_splits));
  tile.first_block = 0;
  if constexpr (Spec::by_table) {
    set_blocks<Spec>(params, tile);
    return true;
  }
  tile.blocks = blocks_seen<Spec>(params, tile.first_row + Spec::tile_q);
  if constexpr (Spec::runs) {
    tile.first_block = params.visible(tile.first_row).begin / Spec::tile_kv;
    tile.blocks -= tile.first_block;
    if (tile.blocks < 1) tile.blocks = 1;  // its rows see nothing
  }
  if constexpr (Spec::tuning.splits) {
    const int first = p.first_of_split(tile.blocks, tile.split);
    const int share = p.first_of_split(tile.blocks, tile.split + 1) - first;
    tile.first_block += first;
    tile.blocks = share < 1 ? 1 : share;
  }
  return true;
}

// Blocks of keys that hold all that a warpgroup sees.
template <class Spec>
__device__ __forceinline__ int blocks_seen_by_warpgroup(const Params& params, const TileFor<Spec>& tile,
                                                        int warpgroup) {
  if constexpr (Spec::by_table)
    return blocks_before<Spec>(runs_of_warpgroup<Spec>(params, tile, warpgroup).max_end);
  if constexpr (Spec::lengths) {
    const int end = run_of_row(tile, tile.first_row + (warpgroup + 1) * kWarpgroupRows - 1).end;
    return blocks_before<Spec>(end < 0 ? 0 : end);
  } else {
    return blocks_seen<Spec>(params, tile.first_row + (warpgroup + 1) * kWarpgroupRows);
  }
}

// Of the tile's blocks of keys, those up to the last one that a warpgroup sees: its rows may all see less
// than the last row of the tile, or not exist. It goes past the others while other warpgroups still need
// them, and may hold those up until it has come to a block that it sees: so that is one of those that are
// here at the same time.
template <class Spec>
__device__ __forceinline__ int blocks_of_warpgroup(const Params& params, const TileFor<Spec>& tile,
                                                   int warpgroup) {
  if constexpr (Spec::visible == Visible::all) return tile.blocks;
  const int first = tile.first_row + warpgroup * kWarpgroupRows;
  const bool no_row =
      Spec::lengths ? first + kWarpgroupRows <= 0 : first >= params.problem.q_rows << params.pack_shift;
  const int seen = no_row ? 1 : blocks_seen_by_warpgroup<Spec>(params, tile, warpgroup);
  const int in_tile = seen - tile.first_block < tile.blocks ? seen - tile.first_block : tile.blocks;
  const int here = tile.blocks - (Spec::tuning.stages - 1);
  const int least = here < 1 ? 1 : here;
  return in_tile < least ? least : in_tile;
}

// A place in a ring of kStages, and the parity of the phase that its barriers are in, which flips from round
// to round. Who fills it waits for `phase ^ 1` of the free barrier, so that the first round passes; who
// empties it for `phase` of the full one.
template <int kStages>
struct Ring {
  int stage = 0;
  uint32_t phase = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET
