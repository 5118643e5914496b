// SPDX-License-Identifier: MIT
// Which tiles a block computes, in which order, and how the rings of stages turn: what loader and math must
// agree on.
#pragma once

#include <cstdint>

#include "kernels/hopper_forward/params.h"
#include "kernels/hopper_forward/smem.h"
#include "primitives/index.h"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

// Blocks of keys that hold all that this packed row sees, and those that it sees to the end.
template <class Spec>
__device__ __forceinline__ int blocks_seen(const ForwardParams& p, int row) {
  const int keys = p.visible_keys(row / p.pack);
  return keys == 0 ? 1 : (keys + Spec::tile_kv - 1) / Spec::tile_kv;
}
template <class Spec>
__device__ __forceinline__ int blocks_seen_whole(const ForwardParams& p, int row) {
  return p.visible_keys(row / p.pack) / Spec::tile_kv;
}

// The block's tile number `round`, with no blocks when there is none. Where work per tile falls from first to
// last (causal), a block that begins a round with the longest begins the next with the shortest: sums stay
// even without a counter that all blocks share, and nothing has to be reset between launches.
template <class Spec>
__device__ __forceinline__ void find_tile(const Params& params, unsigned round,
                                          Tile<Spec::math_warpgroups>& tile) {
  const ForwardParams& p = params.problem;
  const unsigned block = gpu::block_index();
  const unsigned number = round * params.blocks + (round % 2 == 0 ? block : params.blocks - 1 - block);
  tile.blocks = 0;
  if (number >= params.tiles) return;
  const TileOrder::Tile place = p.order.tile(number);
  tile.batch = place.batch;
  tile.head = place.head * p.pack;
  tile.first_row = place.q_tile * Spec::tile_q;
  const int last_row = p.q_rows * p.pack - 1;
#pragma unroll
  for (int w = 0; w < Spec::math_warpgroups; ++w) {
    const int first = tile.first_row + w * kWarpgroupRows;
    const int last = first + kWarpgroupRows - 1 < last_row ? first + kWarpgroupRows - 1 : last_row;
    tile.seen[w] = blocks_seen<Spec>(p, last);
    tile.seen_by_all[w] = blocks_seen_whole<Spec>(p, first);
  }
  tile.blocks = tile.seen[Spec::math_warpgroups - 1];  // later rows see no less
  if constexpr (!Spec::tuning.skip_unseen) {
#pragma unroll
    for (int w = 0; w < Spec::math_warpgroups; ++w) tile.seen[w] = tile.blocks;
  }
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
