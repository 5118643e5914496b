// SPDX-License-Identifier: MIT
// Dropout in the general form of ampere_forward. Eight keys of a row share a number of Philox, and four lanes
// share them: of a row's numbers in a tile, each lane draws one in four, and tells the others.
#pragma once

#include <cstdint>

#include "kernels/ampere_forward/general.cuh"
#include "numeric/dropout.h"
#include "primitives/registers.h"
#include "primitives/shuffle.h"

namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET {

// What a lane has drawn for a tile of keys: of each row tile eight bits a number, numbers of its first row
// first. Number j of a row is of keys 8 (4 j + lane % 4) .. + 7.
template <class Spec>
using Drawn = uint32_t[Spec::row_tiles];

// Before scores take their registers.
template <class Spec>
__device__ __forceinline__ void draw(Drawn<Spec>& drawn, const ForwardParams& p, const General& sight,
                                     const GeneralWork& work, int first_key) {
  static_assert(Spec::tuning.tile_kv % (4 * PairDropout::kKeys) == 0);
  constexpr int kNumbers = Spec::key_tiles / 4;  // of a row
#pragma unroll
  for (int r = 0; r < Spec::row_tiles; ++r) drawn[r] = 0;
  const PairDropout& dropout = sight.params.dropout;
  if (!dropout.any()) return;
  const int lane = gpu::opaque(gpu::lane_index());  // else rows and heads are kept from tile to tile
  const int first_row = work.first_row + gpu::warp_index() * Spec::rows_per_warp + lane / 4;
#pragma unroll
  for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll 2  // all of them side by side need more registers than there are
    for (int i = 0; i < 2 * kNumbers; ++i) {
      const int row = first_row + 16 * r + 8 * (i / kNumbers);
      const int position = position_of(p, row);
      const int64_t head = int64_t{work.number} * p.q_heads + head_of(p, work, row, position);
      const int block = first_key / PairDropout::kKeys + 4 * (i % kNumbers) + lane % 4;
      drawn[r] |= dropout.kept(head, position, block) << (8 * i);
    }
  }
}

// Weights that are left out become 0; their row's sum has them already. Those that are kept stay as they are
// until raise_kept.
template <class Spec>
__device__ __forceinline__ void drop_weights(Scores<Spec>& P, const General& sight,
                                             const Drawn<Spec>& drawn) {
  if (!sight.params.dropout.any()) return;
  constexpr int kNumbers = Spec::key_tiles / 4;
  const int lane = gpu::opaque(gpu::lane_index());
#pragma unroll
  for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
    for (int from = 0; from < 4; ++from) {
      const float theirs = gpu::shuffle(gpu::as_float(drawn[r]), lane / 4 * 4 + from);
      const uint32_t kept = gpu::as_bits(theirs) >> (2 * (lane % 4));  // of this lane's two keys in eight
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int j = 0; j < kNumbers; ++j) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            if ((kept >> (8 * (h * kNumbers + j) + i) & 1) == 0) P[r][4 * j + from][2 * h + i] = 0;
          }
        }
      }
    }
  }
}

// Once for all keys: a weight times this could be more than fp16 holds.
template <class Spec>
__device__ __forceinline__ void raise_kept(State<Spec>& state, const General& sight) {
  const PairDropout& dropout = sight.params.dropout;
  if (!dropout.any()) return;
#pragma unroll
  for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
    for (int d = 0; d < Spec::dim_tiles; ++d) {
#pragma unroll
      for (int i = 0; i < 4; ++i) state.O[r][d][i] *= dropout.raise();
    }
  }
}

}  // namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET
