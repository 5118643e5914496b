// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/hopper_forward/spec.h"

namespace flashmoe::kernels::hopper_forward {

// A tile of query rows.
struct Tile {
  int batch, head, kv_head;  // head: the first query head of the tile
  int first_row;             // packed query rows
  int split;                 // the share of the keys, where they are shared out
  int first_block;           // of keys; numbers of the tile's blocks count from it
  int blocks;  // of keys, walked from the last to the first; at least one, if only of masked keys
};

// The same of a sequence. Its last tile and its last block of keys are whole: first_row is negative where the
// first tile is not, and keys are counted from the beginning of the first block, of which `hidden` come
// before the first key. What TMA is asked for before a sequence's beginning lies outside of its map: it comes
// as zeros, and is not stored. `batch` is the sequence's place in q.
struct TileOfSequence : Tile {
  int k_place;
  int hidden;
  int keys_end;            // of all of its blocks
  int run_begin, run_end;  // row i sees keys from i + run_begin up to i + run_end
};
template <class Spec>
using TileFor = std::conditional_t<Spec::lengths, TileOfSequence, Tile>;

// What forms that add a tensor have beside the rest: a tile of it for each math warpgroup.
template <class Spec, bool = Spec::adds_bias>
struct BiasTiles {};
template <class Spec>
struct BiasTiles<Spec, true> {
  alignas(1024) unsigned char bias[Spec::math_warpgroups][Spec::bias_bytes];
};

// A full barrier counts the bytes that the loader announced; a free barrier the warpgroups (Q in registers:
// the warps) that are done with the place.
template <class Spec>
struct Smem : BiasTiles<Spec> {
  static constexpr int kMath = Spec::math_warpgroups;
  static constexpr int kStages = Spec::tuning.stages;
  static constexpr int kSlots = Spec::tuning.q_slots;
  static constexpr bool kOwnOut = Spec::tuning.own_out;

  alignas(1024) unsigned char k[kStages][Spec::kv_bytes];
  alignas(1024) unsigned char v[kStages][Spec::kv_bytes];
  alignas(1024) unsigned char q[kMath][kSlots][Spec::q_bytes];
  alignas(1024) unsigned char out[kOwnOut ? kMath : 1][kOwnOut ? Spec::q_bytes : 16];
  TileFor<Spec> loaded;  // the loader's own note
  uint64_t k_full[kStages], k_free[kStages];
  uint64_t v_full[kStages], v_free[kStages];
  uint64_t q_full[kMath][kSlots], q_free[kMath][kSlots];
  // Change::bias; and how many blocks of keys each warpgroup sees of the loader's tile.
  uint64_t bias_full[kMath], bias_free[kMath];
  int bias_blocks[kMath];
};

}  // namespace flashmoe::kernels::hopper_forward
