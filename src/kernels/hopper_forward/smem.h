// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/hopper_forward/spec.h"

namespace flashmoe::kernels::hopper_forward {

// What the loader tells the math warpgroups about a tile of query rows, before the Q that it comes with.
template <int kMath>
struct Tile {
  int batch, head;  // head: the first query head of the tile
  int first_row;    // packed query rows
  int blocks;       // of keys that are loaded, walked from the last to the first; 0: there are no more tiles
  // By warpgroup, counted from the first block: those that any of its rows sees (at least one, if only of
  // masked keys), and those that all of its rows see to the end.
  int seen[kMath], seen_by_all[kMath];
};

// A full barrier counts the bytes that the loader announced; a free barrier the warpgroups (Q in registers:
// the warps) that are done with the place.
template <class Spec>
struct Smem {
  static constexpr int kMath = Spec::math_warpgroups;
  static constexpr int kStages = Spec::tuning.stages;
  static constexpr int kSlots = Spec::tuning.q_slots;
  static constexpr bool kOwnOut = Spec::tuning.own_out;

  alignas(1024) unsigned char k[kStages][Spec::kv_bytes];
  alignas(1024) unsigned char v[kStages][Spec::kv_bytes];
  alignas(1024) unsigned char q[kMath][kSlots][Spec::q_bytes];
  alignas(1024) unsigned char own_out[kOwnOut ? kMath : 1][kOwnOut ? Spec::q_bytes : 16];
  // A tile's note outlives its Q: a result is stored when the next tile has begun.
  static constexpr int kTiles = 8;
  Tile<kMath> tiles[kTiles];
  uint64_t k_full[kStages], k_free[kStages];
  uint64_t v_full[kStages], v_free[kStages];
  uint64_t q_full[kMath][kSlots], q_free[kMath][kSlots];
};

}  // namespace flashmoe::kernels::hopper_forward
