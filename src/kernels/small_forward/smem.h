// SPDX-License-Identifier: MIT
// The shared memory of small_forward: one private region per warp, and what the warps tell each other.
#pragma once

#include "kernels/eight_rows.h"
#include "kernels/small_forward/spec.h"
#include "primitives/chunk.h"

namespace flashmoe::kernels::small {

template <class Spec>
struct Smem {
  static constexpr Tuning kTuning = Spec::tuning;
  static constexpr int kKeys = kTuning.keys_per_warp;
  static constexpr int kUnits = kTuning.head_dim / 16;  // an output tile is 8 x D = kUnits x 32 lanes x 4 floats

  union Warp {
    struct {
      gpu::Chunk k[kKeys][kTuning.chunks()];
      gpu::Chunk v[kKeys][kTuning.chunks()];
    } keys;
    Float4 partial[kUnits][32];  // once K and V have been used
  };
  Warp warp[kTuning.warps];
  RowStats stats[kRows][kTuning.warps];
};

}  // namespace flashmoe::kernels::small
