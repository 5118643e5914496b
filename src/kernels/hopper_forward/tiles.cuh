// SPDX-License-Identifier: MIT
// Which tiles a block computes, in which order, and how the rings of stages turn: what loader and math must
// agree on.
#pragma once

#include <cstdint>

#include "kernels/hopper_forward/params.h"
#include "kernels/hopper_forward/smem.h"
#include "primitives/index.h"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

struct Tile {
  int batch, head, kv_head;  // head: the first query head of the tile
  int first_row;             // packed query rows
  int blocks;  // of keys, walked from the last to the first; at least one, if only of masked keys
};

// The block's tile number `round`; false when there is none. Where work per tile falls from first to last
// (causal), a block that begins a round with the longest begins the next with the shortest: sums stay even
// without a counter that all blocks share, and nothing has to be reset between launches.
template <class Spec>
__device__ __forceinline__ bool find_tile(const Params& params, unsigned round, Tile& tile) {
  const ForwardParams& p = params.problem;
  const unsigned block = gpu::block_index();
  const unsigned number = round * params.blocks + (round % 2 == 0 ? block : params.blocks - 1 - block);
  if (number >= params.tiles) return false;
  const TileOrder::Tile place = p.order.tile(number);
  tile.batch = place.batch;
  tile.head = place.head * p.pack;
  tile.kv_head = tile.head / p.group;
  tile.first_row = place.q_tile * Spec::tile_q;
  const int packed_rows = p.q_rows * p.pack;
  const int end = tile.first_row + Spec::tile_q < packed_rows ? tile.first_row + Spec::tile_q : packed_rows;
  const int keys = p.visible_keys((end - 1) / p.pack);
  tile.blocks = keys == 0 ? 1 : (keys + Spec::tile_kv - 1) / Spec::tile_kv;
  return true;
}

// A place in a ring of kStages, and how often the ring has turned, modulo 2. Who fills it waits for `turn ^
// 1` of the free barrier, so that the first turn passes; who empties it for `turn` of the full one.
template <int kStages>
struct Ring {
  int stage = 0;
  uint32_t turn = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      turn ^= 1;
    }
  }
};

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET
