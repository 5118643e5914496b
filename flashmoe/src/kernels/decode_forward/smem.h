// SPDX-License-Identifier: MIT
// The shared memory of decode_forward: a ring per warp, what the warps tell each other, and what the
// cluster's blocks tell this one.
#pragma once

#include <cstdint>

#include "kernels/decode_forward/spec.h"
#include "kernels/eight_rows.h"
#include "primitives/chunk.h"

namespace flashmoe::kernels::decode {

template <class Spec>
struct Warps {
  static constexpr Tuning kTuning = Spec::tuning;

  union Warp {
    gpu::Chunk ring[kTuning.ring][kChunkKeys][kTuning.chunks()];  // of K rows, or of V rows
    Float4 partial[kRows][kTuning.head_dim / 4];                  // once they have been used
  };
  Warp warp[kTuning.warps];
  gpu::Chunk q[kTuning.warps][kRows][kTuning.chunks()];
  RowStats stats[kRows][kTuning.warps];
};

// Shares of this block's slice of the output columns, one from each block of the cluster.
template <class Spec, bool kHasPeers>
struct Gathered {
  static constexpr int kCluster = Spec::tuning.cluster;

  Float4 peer_partial[kCluster][kRows][Spec::tuning.slice()];
  RowStats peer_stats[kRows][kCluster];
  alignas(16) uint64_t all_here;  // the mbarrier that counts their bytes
};
template <class Spec>
struct Gathered<Spec, false> {};

template <class Spec>
struct Smem : Warps<Spec>, Gathered<Spec, (Spec::tuning.cluster > 1)> {
  using typename Warps<Spec>::Warp;
};

}  // namespace flashmoe::kernels::decode
