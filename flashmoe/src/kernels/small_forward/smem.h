// SPDX-License-Identifier: MIT
// The shared memory of small_forward: one private region per warp, and what the warps tell each other.
#pragma once

#include "kernels/eight_rows.h"
#include "kernels/small_forward/spec.h"
#include "primitives/chunk.h"
#include "primitives/target.h"

namespace flashmoe::kernels::small {

template <class Spec>
struct Smem {
  static constexpr Tuning kTuning = Spec::tuning;
  static constexpr int kKeys = kTuning.keys_per_warp;
  static constexpr int kUnits =
      kTuning.head_dim / 16;  // an output tile is 8 x D = kUnits x 32 lanes x 4 floats

  union Warp {
    struct {
      gpu::Chunk k[kKeys][kTuning.chunks()];
      gpu::Chunk v[kKeys][kTuning.chunks()];
      gpu::Chunk q[kTuning.head_dim / 32]
                  [32];  // each lane's own fragments: of row g the elements 32 j + 8 t on
    } keys;
    Float4 partial[kUnits][32];  // once K and V have been used
  };
  Warp warp[kTuning.warps];
  RowStats stats[kRows][kTuning.warps];

  // Where chunk c of row r is kept, so that the eight lanes that read together touch all banks once.
  // K is read as (row g, chunk t + 4 j): two rows at a time. V as (row 2 t, chunk g): one chunk column of
  // four row pairs.
  static constexpr FLASHMOE_HD int k_place(int row, int chunk) { return chunk ^ ((row & 1) << 2); }
  static constexpr FLASHMOE_HD int v_place(int row, int chunk) { return chunk ^ (((row >> 1) & 3) << 1); }
};

}  // namespace flashmoe::kernels::small
