// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/ampere_backward/spec.h"
#include "kernels/runs.h"
#include "primitives/chunk.h"

namespace flashmoe::kernels::ampere_backward {

// Places in Smem::scores. P has none where it stays in registers: the bytes of two blocks of head_dim 64 are
// all that an SM of an A100 has.
inline constexpr int kDs = 0;
inline constexpr int kP = 1;

// The general form: what a block finds out once, here since registers are scarce.
struct Place {
  int entry;             // of the batch, or the number of a sequence; kNoSequence: there is no tile
  int q_entry, k_entry;  // the same, or the sequence's places
  int kv_head, first_key;
  int q_rows, kv_rows;
  int first_position;        // the key that stands where query row 0 does
  Runs runs;                 // what rows see where no table says it
  int begin, end;            // query tiles of a head that see some of the keys
  int full_begin, full_end;  // of those, the ones of which every row sees every key
  int64_t first_padded;      // of the entry's rows in workspace
};
struct NoPlace {};

// Tiles are swizzled: see Tile. dK leaves through the place of K, dV through that of V.
template <class Spec>
struct Smem : std::conditional_t<Spec::general, Place, NoPlace> {
  static constexpr int kRowChunks = Spec::head_dim / 8;
  static constexpr int kScoreChunks = Spec::tile_kv * Spec::tile_q / 8;
  alignas(128) gpu::Chunk k[Spec::tile_kv * kRowChunks];
  alignas(128) gpu::Chunk v[Spec::tile_kv * kRowChunks];
  alignas(128) gpu::Chunk q[Spec::stages][Spec::tile_q * kRowChunks];
  alignas(128) gpu::Chunk dout[Spec::stages][Spec::tile_q * kRowChunks];
  alignas(128) gpu::Chunk scores[Spec::shares_scores ? 2 : 1][kScoreChunks];  // [key][query]
  alignas(128) float lse_log2[Spec::stages][Spec::tile_q];
  alignas(128) float delta[Spec::stages][Spec::tile_q];
};

}  // namespace flashmoe::kernels::ampere_backward
