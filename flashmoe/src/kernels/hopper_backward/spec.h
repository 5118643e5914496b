// SPDX-License-Identifier: MIT
// The compiled forms of hopper_backward: element type and one row of this table.
#pragma once

#include <cstdint>

#include "kernels/score_params.h"
#include "primitives/matrix_descriptor.h"
#include "primitives/target.h"

namespace flashmoe::kernels::hopper_backward {

inline constexpr int kWarpgroup = 128;     // threads
inline constexpr int kWarpgroupKeys = 64;  // rows of scores per math warpgroup: the height of a wgmma
inline constexpr int kMathWarpgroups = 2;
inline constexpr int kThreads = kWarpgroup * (kMathWarpgroups + 1);

struct Tuning {
  int head_dim;  // compiled; smaller ones are filled up with zeros by TMA
  int tile_q;    // query rows per step
  int tile_kv;   // keys of a block
};

// Up to head_dim 128 each math warpgroup has 64 of the keys. dK and dV of 256 columns would not fit into its
// registers: there both have the same 64 keys, half of the queries for S, and half of the columns for the
// rest.
inline constexpr Tuning kTunings[] = {
    {.head_dim = 64, .tile_q = 128, .tile_kv = 128},
    {.head_dim = 128, .tile_q = 64, .tile_kv = 128},
    {.head_dim = 256, .tile_q = 64, .tile_kv = 64},
};
inline constexpr int kNumTunings = sizeof(kTunings) / sizeof(kTunings[0]);

// Registers per thread of the loading and of the math warpgroups.
inline constexpr int kLoadRegisters = 24;
inline constexpr int kMathRegisters = 240;

// What rows see: all keys up to one of their own; or runs that may begin anywhere, by a rule
// (BackwardParams::runs), by a table in memory (BackwardParams::table), or, for sequences of different
// lengths, by a rule that is each one's own; or any keys, by one bit for each (Params::bits); or by a rule,
// in tiles that a table says count.
enum class Visible { from_first, runs, rows, lengths, bits, tiles };

// Whether there is a form that adds a tensor: where shared memory has room for a tile of it.
FLASHMOE_HD constexpr bool takes_bias(const Tuning& t) { return t.head_dim <= 128; }

// Whether its forms for tables of rows and for lengths are (Spec::persistent).
FLASHMOE_HD constexpr bool is_persistent(const Tuning& t) { return t.tile_kv > kWarpgroupKeys; }

template <class T, int kTuning, Visible kVisible, Change kChange = Change::none>
struct Spec {
  using Element = T;
  static constexpr Change change = kChange;  // none, softcap, slopes or bias: gradients need no others
  static constexpr bool adds_bias = kChange == Change::bias;
  static constexpr bool lengths = kVisible == Visible::lengths;
  static constexpr bool runs = kVisible == Visible::runs || kVisible == Visible::tiles || lengths;
  static constexpr bool by_rows = kVisible == Visible::rows;
  static constexpr bool by_bits = kVisible == Visible::bits;
  static constexpr bool by_key_tiles = by_bits || kVisible == Visible::tiles;
  static constexpr bool notes_masks =
      by_rows || lengths || by_key_tiles;  // the loader, with each tile of queries
  static constexpr int head_dim = kTunings[kTuning].head_dim;
  static constexpr int tile_q = kTunings[kTuning].tile_q;
  static constexpr int tile_kv = kTunings[kTuning].tile_kv;
  // A block takes one tile of keys after the other, and loads the next one's while a tile's gradients leave:
  // where many tiles are seen by few queries. Those that warpgroups share leave no room for that.
  static constexpr bool persistent = (by_rows || lengths) && is_persistent(kTunings[kTuning]);
  static constexpr int stages = 2;  // of Q, dO and their rows' statistics; and of dS

  // Tiles lie in shared memory as slabs of all their rows, 64 columns wide: the swizzle's 128 bytes.
  static constexpr int slab_columns = 64;
  static constexpr int row_bytes = 128;  // in a slab
  static constexpr int slabs = head_dim / slab_columns;
  static constexpr gpu::Swizzle swizzle = gpu::Swizzle::bytes_128;
  static constexpr uint32_t descriptor_high = gpu::descriptor_high(8 * row_bytes, swizzle);
  static constexpr int q_slab_bytes = tile_q * row_bytes;
  static constexpr int kv_slab_bytes = tile_kv * row_bytes;  // dS, [key][query], has slabs of the same size
  static constexpr int q_bytes = slabs * q_slab_bytes;
  static constexpr int kv_bytes = slabs * kv_slab_bytes;
  static constexpr int ds_bytes = tile_q / slab_columns * kv_slab_bytes;
  static constexpr int bias_bytes = tile_q * row_bytes;  // of a warpgroup's 64 keys, [query][key]

  // What a warpgroup has of the scores, and of dK and dV.
  static constexpr bool shares_keys = tile_kv == kWarpgroupKeys;  // with the other one
  static constexpr int own_queries = shares_keys ? tile_q / kMathWarpgroups : tile_q;
  static constexpr int own_columns = shares_keys ? head_dim / kMathWarpgroups : head_dim;

  // dQ of a step has pieces of 64 rows and 64 columns, as many for each warpgroup: side by side, or, where
  // head_dim has no more columns, one below the other.
  static constexpr int own_pieces = tile_q * head_dim / 4096 / kMathWarpgroups;
  static constexpr bool pieces_below = slabs == 1;

  static constexpr int dim_steps = head_dim / 16;  // of a matrix product over head_dim
  static constexpr int key_steps = tile_kv / 16;   // over the keys of a tile
  static constexpr int row_steps = tile_q / 16;    // over the query rows of a tile
  static constexpr int own_row_steps = own_queries / 16;
  // Registers have no room for what softcap's derivative needs: it waits for dP in shared memory. Where keys
  // are shared that has none either, and S waits for dP.
  static constexpr bool keeps_capped = kChange == Change::softcap && !shares_keys;
  static constexpr int capped_words = kMathWarpgroups * kWarpgroup * 4 * own_row_steps;
  static constexpr int p_bytes = shares_keys ? ds_bytes : keeps_capped ? capped_words * 4 / 2 : 16;
};

}  // namespace flashmoe::kernels::hopper_backward
