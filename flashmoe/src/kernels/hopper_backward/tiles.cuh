// SPDX-License-Identifier: MIT
// Which keys a block has, which query tiles it walks over, and how they walk the rings of stages: what all
// roles must agree on.
#pragma once

#include <cstdint>

#include "kernels/hopper_backward/params.h"
#include "kernels/hopper_backward/smem.h"
#include "kernels/hopper_backward/work.h"
#include "kernels/load_row_table.h"
#include "kernels/pair_bits.h"
#include "primitives/index.h"
#include "primitives/memory.h"
#include "primitives/registers.h"
#include "primitives/shuffle.h"

namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET {

// The block's number among all tiles. Where blocks wait for one another it comes from a counter, so that all
// lower numbers have begun. All lanes have it from one, and the compiler knows that it is the same in all.
template <class Spec>
__device__ __forceinline__ uint32_t tile_number(const Params& params, const Smem<Spec>& smem) {
  if (!params.problem.in_order) return gpu::block_index();
  return gpu::as_bits(gpu::shuffle(gpu::as_float(static_cast<uint32_t>(smem.tile)), 0));
}

// The query tiles that see keys of the block's tile, from the table of those.
template <class Spec>
__device__ __forceinline__ void set_query_tiles(const Params& params, Work& work) {
  const BackwardParams& p = params.problem;
  const int key_tile = work.first_key / kTableTile;
  TileRows rows = load_key_tile(p.table, work.batch, key_tile);
  if constexpr (Spec::tile_kv > kTableTile) {
    static_assert(Spec::tile_kv == 2 * kTableTile);
    if (work.first_key + kTableTile < p.kv_rows) {
      const TileRows last = load_key_tile(p.table, work.batch, key_tile + 1);
      rows.end = last.end;
      rows.full_begin = last.full_begin;
    }
  }
  work.begin = rows.begin / Spec::tile_q;
  work.end = rows.begin < rows.end ? (rows.end + Spec::tile_q - 1) / Spec::tile_q : work.begin;
  work.unmasked = (rows.full_begin + Spec::tile_q - 1) / Spec::tile_q;
  work.full_end = rows.full_end < p.q_rows ? rows.full_end / Spec::tile_q : work.end;
}

// The query tiles that see keys of the block's tile in some head of the group, and of those the ones where
// every row sees every key in all heads. Where blocks take turns, each takes one at every tile of queries:
// which others see a tile, no block knows.
template <class Spec>
__device__ __forceinline__ void set_query_tiles_of_group(const Params& params, Work& work) {
  const BackwardParams& p = params.problem;
  const PairBits& bits = params.bits;
  constexpr int kKeyTiles = Spec::tile_kv / kTableTile;
  TileRows rows{kNobody, 0, 0, kNobody};
  const int heads = bits.head_entries == 0 ? 1 : p.group;
  for (int i = 0; i < heads * kKeyTiles; ++i) {
    const int64_t entry = bits.entry(work.batch, work.kv_head * p.group + i / kKeyTiles);
    const int key_tile = work.first_key / kTableTile + i % kKeyTiles;
    const TileRows own =
        gpu::load_global(bits.key_tiles + entry * (bits.padded_keys / kTableTile) + key_tile);
    if (own.begin < own.end) {
      if (own.begin < rows.begin) rows.begin = own.begin;
      if (own.end > rows.end) rows.end = own.end;
    }
    if (own.full_begin > rows.full_begin) rows.full_begin = own.full_begin;
    if (own.full_end < rows.full_end) rows.full_end = own.full_end;
  }
  if (p.in_order) rows.begin = 0, rows.end = p.q_rows;
  if (rows.begin > rows.end) rows.begin = rows.end;
  work.begin = rows.begin / Spec::tile_q;
  work.end = (rows.end + Spec::tile_q - 1) / Spec::tile_q;
  work.unmasked = (rows.full_begin + Spec::tile_q - 1) / Spec::tile_q;
  work.full_end = rows.full_end < p.q_rows ? rows.full_end / Spec::tile_q : work.end;
}

template <class Spec>
__device__ __forceinline__ void find_listed(const Params& params, uint32_t number, Work& work);

template <class Spec>
__device__ __forceinline__ Work find_work(const Params& params, uint32_t number) {
  if constexpr (Spec::lengths) {
    Work listed;
    find_listed<Spec>(params, number, listed);
    return listed;
  }
  const BackwardParams& p = params.problem;
  const TileOrder::Tile tile = p.order.tile(number);
  Work work;
  work.batch = tile.batch;
  work.kv_head = tile.head;
  work.first_key = tile.q_tile * Spec::tile_kv;
  if constexpr (Spec::by_rows || Spec::by_key_tiles) {
    if constexpr (Spec::by_rows) {
      set_query_tiles<Spec>(params, work);
    } else {
      set_query_tiles_of_group<Spec>(params, work);
    }
    if (work.first_key + Spec::tile_kv > p.kv_rows) work.unmasked = work.end;
    work.steps = p.group * (work.end - work.begin);
    return work;
  }
  const int first_row = work.first_key - p.causal_shift;  // that sees a key of the tile
  const int full_row = first_row + Spec::tile_kv - 1;     // that sees all of them
  work.end = (p.q_rows + Spec::tile_q - 1) / Spec::tile_q;
  work.begin = first_row <= 0 ? 0 : first_row / Spec::tile_q;
  if (work.begin > work.end) work.begin = work.end;
  work.unmasked = full_row <= 0 ? 0 : (full_row + Spec::tile_q - 1) / Spec::tile_q;
  if constexpr (Spec::runs) {
    const int64_t behind = int64_t{work.first_key} + Spec::tile_kv - p.runs.begin;  // rows that see the last
    const int rows = static_cast<int>(behind < 0 ? 0 : behind < p.q_rows ? behind : p.q_rows);
    work.end = (rows + Spec::tile_q - 1) / Spec::tile_q;
    if (work.begin > work.end) work.begin = work.end;
  }
  if (work.first_key + Spec::tile_kv > p.kv_rows) work.unmasked = work.end;
  work.steps = p.group * (work.end - work.begin);
  return work;
}

// The tile that the list has under this number.
template <class Spec>
__device__ __forceinline__ void find_listed(const Params& params, uint32_t number, Work& work) {
  const TileOrder::Tile tile = params.problem.order.tile(number);
  const SequenceTile own = gpu::load_global(params.sequences.tiles + tile.q_tile);
  work.steps = kNoWork;
  if (own.sequence == kNoSequence) return;
  const Runs runs = params.sequences.rule.runs(own.q_rows, own.k_rows);
  const int q_tiles = (own.q_rows + Spec::tile_q - 1) / Spec::tile_q;
  work.batch = own.q_place;
  work.k_place = own.k_place;
  work.k_rows = own.k_rows;
  work.kv_head = tile.head;
  work.first_key = own.first_row;
  work.first_padded = params.padded.begin(own.sequence, own.q_place);
  work.rows_before = q_tiles * Spec::tile_q - own.q_rows;
  work.causal_shift = runs.end - 1 - work.rows_before;
  work.more_rows = runs.end - 1 - runs.begin;
  const int first_row = (work.first_key < 0 ? 0 : work.first_key) - work.causal_shift;
  const int last_key = work.first_key + Spec::tile_kv - 1;
  const int full_row = last_key - work.causal_shift;
  const int behind = full_row + work.more_rows + 1;  // rows that see the last key
  work.begin = first_row <= 0 ? 0 : first_row / Spec::tile_q;
  work.end = behind <= 0 ? 0 : (behind + Spec::tile_q - 1) / Spec::tile_q;
  if (work.end > q_tiles) work.end = q_tiles;
  if (work.begin > work.end) work.begin = work.end;
  work.unmasked = full_row <= 0 ? 0 : (full_row + Spec::tile_q - 1) / Spec::tile_q;
  if (work.first_key < 0) work.unmasked = work.end;
  const int sees_first =
      work.first_key - work.causal_shift + work.more_rows + 1;  // rows before the first that does not
  work.full_end = sees_first < 0 ? 0 : sees_first / Spec::tile_q;
  work.steps = params.problem.group * (work.end - work.begin);
}

// Runs: whether some row of a tile does not see the first key.
template <class Spec>
__device__ __forceinline__ bool hides_first_key(const Params& params, const Work& work, int q_tile) {
  return (q_tile + 1) * Spec::tile_q + params.problem.runs.begin > work.first_key + 1;
}

// Whether some row of a tile of queries does not see some key.
template <class Spec>
__device__ __forceinline__ bool needs_mask(const Params& params, const Work& work, int q_tile) {
  if constexpr (Spec::notes_masks) return q_tile < work.unmasked || q_tile >= work.full_end;
  return q_tile < work.unmasked || (Spec::runs && hides_first_key<Spec>(params, work, q_tile));
}

// A step of the walk.
template <class Spec>
struct Step {
  int head;       // query head, of the batch entry
  int q_tile;     // of the head
  int row_block;  // Spec::persistent: padded_row() in units of 64, kept since to find it takes many registers

  __device__ __forceinline__ Step(const Params& params, const Work& work)
      : head(work.kv_head * params.problem.group), q_tile(work.begin), row_block(work.row_block) {}

  __device__ __forceinline__ void advance(const Params& params, const Work& work) {
    row_block += Spec::tile_q / kDqPieceRows;
    if (++q_tile == work.end) {
      q_tile = work.begin;
      ++head;
      row_block += (params.problem.padded_rows - (work.end - work.begin) * Spec::tile_q) / kDqPieceRows;
    }
  }

  // The first row of the tile, counted over all heads as the workspace has them.
  __device__ __forceinline__ int64_t padded_row(const Params& params, const Work& work) const {
    if constexpr (Spec::persistent) return int64_t{row_block} * kDqPieceRows;
    const BackwardParams& p = params.problem;
    if constexpr (Spec::lengths)
      return int64_t{head} * p.padded_rows + work.first_padded + q_tile * Spec::tile_q;
    return (int64_t{work.batch} * p.q_heads + head) * p.padded_rows + q_tile * Spec::tile_q;
  }

  // The first piece of dQ of its tile.
  __device__ __forceinline__ int first_piece(const Params& params, const Work& work) const {
    if constexpr (Spec::persistent) return row_block * Spec::slabs;
    return static_cast<int>(padded_row(params, work) / kDqPieceRows) * Spec::slabs;
  }
};

// A place in a ring of kStages, and the parity of the phase that its barriers are in, which flips from round
// to round. Who fills it waits for `phase ^ 1` of the free barrier, so that the first round passes; who
// empties it for `phase` of the full one.
template <int kStages>
struct Ring {
  int stage = 0;
  uint32_t phase = 0;

  static __device__ __forceinline__ Ring at(uint32_t steps) {
    return {static_cast<int>(steps % kStages), steps / kStages % 2};
  }
  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET
