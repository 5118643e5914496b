// SPDX-License-Identifier: MIT
// The compiled forms of hopper_forward: element type and one row of this table.
#pragma once

#include <cstdint>

#include "kernels/score_params.h"
#include "primitives/matrix_descriptor.h"
#include "primitives/target.h"

namespace flashmoe::kernels::hopper_forward {

inline constexpr int kWarpgroup = 128;     // threads
inline constexpr int kWarpgroupRows = 64;  // query rows per warpgroup: the height of a wgmma
inline constexpr int kMaxPack = kWarpgroupRows;

struct Tuning {                 // every field but head_dim changes speed, never what is computed
  int head_dim;                 // compiled; smaller ones are filled up with zeros by TMA
  int tile_kv;                  // keys per pipeline stage; a multiple of 16
  int math_warpgroups = 2;      // of 64 query rows each; one more warpgroup loads
  int stages;                   // tiles of K, and of V, in shared memory
  int q_slots = 1;              // tiles of Q in shared memory
  bool q_in_registers = false;  // Q as the register operand of Q K^T: its slot is free again behind the first
  bool own_out = true;    // O leaves through shared memory of its own, by TMA; else straight from registers
  int blocks_per_sm = 1;  // one persistent block for many tiles, or two with a tile each
  bool splits = false;    // a block has a share of a tile's keys: results are partial, for combine_splits
  bool runs = true;       // there are forms for Visible::runs and Visible::rows: registers suffice

  FLASHMOE_HD constexpr int tile_q() const { return kWarpgroupRows * math_warpgroups; }
  FLASHMOE_HD constexpr int threads() const { return kWarpgroup * (math_warpgroups + 1); }
};

// O is rescaled only when a row's maximum has grown by more than this power of two. P then reaches at most
// 2^8, which fp16 and bf16 hold as exactly as 1.
inline constexpr float kLazyGrowth = 8;

// dispatch/hopper.cpp chooses. Figures, and what else was tried: NOTES.md.
// clang-format off
inline constexpr Tuning kTunings[] = {
    {.head_dim = 64, .tile_kv = 128, .math_warpgroups = 3, .stages = 4, .q_slots = 2},
    {.head_dim = 64, .tile_kv = 64, .math_warpgroups = 4, .stages = 4},
    {.head_dim = 64, .tile_kv = 64, .stages = 4, .blocks_per_sm = 2},
    {.head_dim = 96, .tile_kv = 128, .stages = 3, .q_in_registers = true},
    {.head_dim = 128, .tile_kv = 128, .stages = 2, .q_in_registers = true},
    {.head_dim = 192, .tile_kv = 80, .stages = 2},
    {.head_dim = 256, .tile_kv = 80, .stages = 2, .own_out = false, .runs = false},
    {.head_dim = 256, .tile_kv = 64, .stages = 2, .own_out = false},
    {.head_dim = 64, .tile_kv = 128, .stages = 4, .q_in_registers = true, .own_out = false, .splits = true},
    {.head_dim = 96, .tile_kv = 128, .stages = 3, .q_in_registers = true, .own_out = false, .splits = true},
    {.head_dim = 128, .tile_kv = 128, .stages = 2, .q_in_registers = true, .own_out = false, .splits = true},
    {.head_dim = 192, .tile_kv = 80, .stages = 2, .own_out = false, .splits = true},
    {.head_dim = 256, .tile_kv = 64, .stages = 2, .own_out = false, .splits = true},
};
// clang-format on
inline constexpr int kNumTunings = sizeof(kTunings) / sizeof(kTunings[0]);

// What rows see, as a kernel is compiled for it: every key; those up to one of their own, beside the first;
// or a run of keys that may begin anywhere, by a rule, by a table in memory, or by a rule of their sequence;
// or any keys, by bits in memory; or by a rule, in tiles that a table says count.
enum class Visible { all, causal, runs, rows, lengths, bits, tiles };

// Whether there are forms that change scores: for the head_dims of most models, and none with shares of keys.
FLASHMOE_HD constexpr bool takes_changes(const Tuning& t) {
  return t.runs && !t.splits &&
         (t.head_dim == 128 || t.head_dim == 256 || (t.head_dim == 64 && t.math_warpgroups < 4));
}

// Whether there is a form for bits: for the same.
FLASHMOE_HD constexpr bool takes_bits(const Tuning& t) { return takes_changes(t); }

// Whether there is one that adds a tensor beside them: where shared memory has room for a tile of it.
FLASHMOE_HD constexpr bool takes_bias(const Tuning& t) {
  return takes_bits(t) && (t.head_dim != 64 || t.blocks_per_sm == 2);
}

// Whether there is a form for sequences of different lengths: one for each head_dim, so that a sequence's
// bits don't hang on others. Short ones are the rule, and those want blocks of one tile where there is a
// choice.
FLASHMOE_HD constexpr bool takes_lengths(const Tuning& t) {
  return t.runs && !t.splits && (t.head_dim != 64 || t.blocks_per_sm == 2);
}

// Registers per thread of the loading and of the other warpgroups. A block has 65,536: what the launch gave
// each thread, in steps of 8, has to cover both.
struct Registers {
  int load, math;
};
FLASHMOE_HD constexpr Registers registers_for(const Tuning& t, Change change) {
  if (t.blocks_per_sm == 2) return {32, 104};
  if (t.math_warpgroups == 2 && change == Change::bias) return {24, 240};
  switch (t.math_warpgroups) {
    case 2:
      return {40, 232};
    case 3:
      return {32, 160};
    default:
      return {32, 112};
  }
}

template <class T, int kTuning, Visible kVisible, Change kChange = Change::none>
struct Spec {
  using Element = T;
  static constexpr Change change = kChange;
  static constexpr Tuning tuning = kTunings[kTuning];
  static constexpr Visible visible = kVisible;
  static constexpr bool by_rows = kVisible == Visible::rows;
  static constexpr bool by_bits = kVisible == Visible::bits;
  static constexpr bool lengths = kVisible == Visible::lengths;
  static constexpr bool adds_bias = kChange == Change::bias;
  static constexpr bool by_table = by_rows || by_bits || kVisible == Visible::tiles;
  static constexpr bool runs = kVisible == Visible::runs || by_table || lengths;
  static constexpr bool begins_anywhere = runs || tuning.splits;  // a tile's blocks of keys: not at the first
  static constexpr int head_dim = tuning.head_dim;
  static constexpr int tile_kv = tuning.tile_kv;
  static constexpr int math_warpgroups = tuning.math_warpgroups;
  static constexpr int tile_q = tuning.tile_q();
  static constexpr int threads = tuning.threads();
  static constexpr Registers registers = registers_for(tuning, kChange);

  // Tiles lie in shared memory as slabs of all their rows, as wide as the swizzle.
  static constexpr int slab_columns = head_dim % 64 == 0 ? 64 : 32;
  static constexpr int slabs = head_dim / slab_columns;
  static constexpr int row_bytes = 2 * slab_columns;  // in a slab
  static constexpr gpu::Swizzle swizzle =
      slab_columns == 64 ? gpu::Swizzle::bytes_128 : gpu::Swizzle::bytes_64;
  static constexpr uint32_t descriptor_high = gpu::descriptor_high(8 * row_bytes, swizzle);
  static constexpr int q_bytes = kWarpgroupRows * head_dim * 2;  // of one warpgroup; O takes the same
  static constexpr int kv_bytes = tile_kv * head_dim * 2;        // of one stage of K, or V
  static constexpr int q_slab_bytes = q_bytes / slabs;
  static constexpr int kv_slab_bytes = kv_bytes / slabs;
  static constexpr int bias_bytes = kWarpgroupRows * tile_kv * 2;  // of one warpgroup, in slabs of 64 keys

  static constexpr int dim_steps = head_dim / 16;  // of a matrix product over head_dim
  static constexpr int key_steps = tile_kv / 16;   // over the keys of a stage

  static_assert(head_dim % slab_columns == 0 && tile_kv % 16 == 0 && tile_kv <= 256);
  static_assert(!runs || (tuning.runs && tile_kv <= 128), "a lane keeps at most 32 elements of a row");
  static_assert(!by_bits || tile_kv == 128 || tile_kv == 64, "a lane's elements are a word, or half of one");
  static_assert(!adds_bias || (takes_bias(tuning) && slab_columns == 64));
};

}  // namespace flashmoe::kernels::hopper_forward
