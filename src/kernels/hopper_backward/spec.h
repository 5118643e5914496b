// SPDX-License-Identifier: MIT
// The compiled forms of hopper_backward: element type and one row of this table.
#pragma once

#include <cstdint>

#include "primitives/matrix_descriptor.h"
#include "primitives/target.h"

namespace flashmoe::kernels::hopper_backward {

inline constexpr int kWarpgroup = 128;     // threads
inline constexpr int kWarpgroupKeys = 64;  // keys per math warpgroup: the height of a wgmma
inline constexpr int kMathWarpgroups = 2;
inline constexpr int kThreads = kWarpgroup * (kMathWarpgroups + 1);

struct Tuning {
  int head_dim;  // compiled; smaller ones are filled up with zeros by TMA
  int tile_q;    // query rows per step
};

// A step's tile of scores, P and dS, has tile_q * 128 elements; 8192 elements of Q fill a stage.
inline constexpr Tuning kTunings[] = {
    {.head_dim = 64, .tile_q = 128},
    {.head_dim = 128, .tile_q = 64},
};
inline constexpr int kNumTunings = sizeof(kTunings) / sizeof(kTunings[0]);
inline constexpr int kTileKv = kWarpgroupKeys * kMathWarpgroups;

// Registers per thread of the loading and of the math warpgroups.
inline constexpr int kLoadRegisters = 24;
inline constexpr int kMathRegisters = 240;

template <class T, int kTuning>
struct Spec {
  using Element = T;
  static constexpr int head_dim = kTunings[kTuning].head_dim;
  static constexpr int tile_q = kTunings[kTuning].tile_q;
  static constexpr int tile_kv = kTileKv;
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
  static constexpr int warpgroup_bytes = kWarpgroupKeys * row_bytes;  // of a slab of keys

  // dQ of a step has two pieces of 64 rows and 64 columns, one for each warpgroup: side by side, or, where
  // head_dim has no more columns, one below the other.
  static constexpr int pieces_per_tile = tile_q * head_dim / 4096;
  static_assert(pieces_per_tile == kMathWarpgroups);
  static constexpr bool pieces_below = slabs == 1;

  static constexpr int dim_steps = head_dim / 16;  // of a matrix product over head_dim
  static constexpr int key_steps = tile_kv / 16;   // over the keys of a tile
  static constexpr int row_steps = tile_q / 16;    // over the query rows of a tile
};

}  // namespace flashmoe::kernels::hopper_backward
