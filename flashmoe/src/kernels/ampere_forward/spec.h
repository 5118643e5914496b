// SPDX-License-Identifier: MIT
// The compiled forms of ampere_forward: one per element type and head_dim, and how its tiles are cut.
#pragma once

#include <cstddef>

#include "primitives/target.h"

namespace flashmoe::kernels::ampere_forward {

struct Tuning {         // every field changes speed, never what is computed
  int tile_q;           // query rows per block
  int tile_kv;          // keys per pipeline stage; a multiple of 16
  int warps;            // each has tile_q / warps rows, a multiple of 16, and all keys
  int stages;           // K/V tiles in shared memory: one in use, the others on their way
  bool lazy;            // O is rescaled only when some row's maximum has grown well, else always
  bool q_in_registers;  // else Q fragments are read from shared memory again for every tile of keys
};

// Every form fits the 99 KB of shared memory that a block may have on sm_89.
FLASHMOE_HD constexpr Tuning tuning_for(int head_dim) {
  switch (head_dim) {
    case 32:
      return {.tile_q = 128, .tile_kv = 64, .warps = 4, .stages = 3, .lazy = false, .q_in_registers = true};
    case 64:
      return {.tile_q = 128, .tile_kv = 64, .warps = 4, .stages = 3, .lazy = false, .q_in_registers = true};
    case 96:
      return {.tile_q = 128, .tile_kv = 32, .warps = 4, .stages = 3, .lazy = true, .q_in_registers = false};
    case 128:
      return {.tile_q = 128, .tile_kv = 64, .warps = 4, .stages = 2, .lazy = true, .q_in_registers = false};
    case 192:
      return {.tile_q = 64, .tile_kv = 32, .warps = 4, .stages = 2, .lazy = true, .q_in_registers = false};
    default:
      return {.tile_q = 64, .tile_kv = 32, .warps = 4, .stages = 2, .lazy = true, .q_in_registers = false};
  }
}

// Rows that are not 16-byte aligned are loaded element by element: the loads decide, so one plain cut for
// all.
FLASHMOE_HD constexpr Tuning unaligned_tuning(int head_dim) {
  return {.tile_q = 64,
          .tile_kv = head_dim > 128 ? 16 : 32,
          .warps = 4,
          .stages = 2,
          .lazy = true,
          .q_in_registers = false};
}

// The general form keeps more at hand: eager at 64, it would spill.
FLASHMOE_HD constexpr Tuning general_tuning(int head_dim) {
  Tuning tuning = tuning_for(head_dim);
  tuning.lazy = true;
  return tuning;
}

// With a tensor, a lane keeps its values for a tile of keys beside the scores: half of the keys leave room.
FLASHMOE_HD constexpr Tuning pairs_tuning(int head_dim) {
  Tuning tuning = general_tuning(head_dim);
  tuning.tile_kv = 32;
  if (head_dim == 128) tuning.stages = 3;
  return tuning;
}

enum class Cut { plain, unaligned, general, pairs };

FLASHMOE_HD constexpr Tuning tuning_for(int head_dim, Cut cut) {
  switch (cut) {
    case Cut::plain:
      return tuning_for(head_dim);
    case Cut::unaligned:
      return unaligned_tuning(head_dim);
    case Cut::general:
      return general_tuning(head_dim);
    default:
      return pairs_tuning(head_dim);
  }
}

template <class T, int kDim, Cut kCut>
struct AnySpec {
  using Element = T;
  static constexpr int head_dim = kDim;  // compiled; smaller ones are filled up with zeros
  static constexpr bool aligned = kCut != Cut::unaligned;
  static constexpr Tuning tuning = tuning_for(kDim, kCut);
  static constexpr bool keeps_addresses = kCut != Cut::pairs;  // of copies, in registers, from tile to tile

  static constexpr int threads = 32 * tuning.warps;
  static constexpr int rows_per_warp = tuning.tile_q / tuning.warps;
  static constexpr int row_tiles = rows_per_warp / 16;  // of 16 query rows
  static constexpr int key_tiles = tuning.tile_kv / 8;  // of 8 keys
  static constexpr int dim_tiles = kDim / 8;            // of 8 columns
  static constexpr int row_bytes = 2 * kDim;            // in shared memory
  static constexpr int chunks = kDim / 8;               // of 16 bytes per row

  // Chunk c of row r lies at c ^ swizzle(r), so that 8 rows of one column touch all banks. Rows of a multiple
  // of 128 bytes begin at the same bank; rows of an odd multiple of 64 alternate between two.
  static constexpr int swizzle_width = chunks % 8 == 0 ? 8 : 4;
  static_assert(chunks % 4 == 0 && rows_per_warp % 16 == 0 && tuning.tile_kv % 16 == 0 && tuning.stages >= 2);

  FLASHMOE_HD static constexpr int swizzle(int row) { return swizzle_width == 8 ? row % 8 : row / 2 % 4; }
};

template <class T, int kDim, bool kIsAligned>
struct Spec : AnySpec<T, kDim, kIsAligned ? Cut::plain : Cut::unaligned> {};
template <class T, int kDim>
struct GeneralSpec : AnySpec<T, kDim, Cut::general> {};
template <class T, int kDim>
struct PairsSpec : AnySpec<T, kDim, Cut::pairs> {};

}  // namespace flashmoe::kernels::ampere_forward
