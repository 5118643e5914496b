// SPDX-License-Identifier: MIT
// The shared memory of decode_forward: a ring per warp, what the warps tell each other, and what the
// cluster's blocks tell this one.
#pragma once

#include <cstdint>

#include "kernels/decode_forward/spec.h"
#include "kernels/eight_rows.h"
#include "primitives/chunk.h"
#include "primitives/target.h"

namespace flashmoe::kernels::decode {

// Shares of this block's slice of the output columns, one from each block of the cluster.
template <class Spec, bool kHasPeers>
struct Gathered {
  static constexpr Tuning kTuning = Spec::tuning;
  Float4 partial[kTuning.cluster][kRows][kTuning.slice()];
  RowStats stats[kRows][kTuning.cluster];
  alignas(16) uint64_t all_here;  // the mbarrier that counts their bytes
};
template <class Spec>
struct Gathered<Spec, false> {};

template <class Spec>
struct Smem : Gathered<Spec, (Spec::tuning.cluster > 1)> {
  static constexpr Tuning kTuning = Spec::tuning;

  union Warp {
    gpu::Chunk ring[kTuning.ring][kChunkKeys][kTuning.chunks()];  // of K rows, or of V rows
    Float4 partial[kRows][kTuning.head_dim / 4];                  // once they have been used
  };
  Warp warp[kTuning.warps];
  RowStats stats[kRows][kTuning.warps];

  // Where columns 4 c to 4 c + 3 of a row of `partial` are kept, so that lanes that write or read together
  // touch all banks once: written by lane (g, t) as (row 2 t + x, c = 2 g + h), read along a row.
  static constexpr FLASHMOE_HD int partial_place(int row, int c) {
    return c ^ ((row >> 1 & 1) | (row >> 2 & 1) << 2);
  }
};

}  // namespace flashmoe::kernels::decode
