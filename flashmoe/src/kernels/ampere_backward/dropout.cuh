// SPDX-License-Identifier: MIT
// Dropout in the general form of ampere_backward. Eight keys of a query share a number of Philox, and eight
// lanes share them: each draws one in eight of the numbers of their queries, and tells the others.
#pragma once

#include <cstdint>

#include "kernels/ampere_backward/keys.cuh"
#include "numeric/dropout.h"
#include "primitives/registers.h"
#include "primitives/shuffle.h"

namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET {

// Which of a lane's weights in a chunk are kept, where there is dropout: a bit for each.
template <class Spec>
struct KeptWeights {
  static constexpr int kBlocks = Spec::own_keys / PairDropout::kKeys;  // of keys: numbers of a query
  static constexpr int kNumbers = 2 * Spec::chunk_tiles * kBlocks;     // of the lane's queries
  static_assert(kNumbers % 8 == 0 && kNumbers <= 32);
  uint32_t bits = 0;

  __device__ __forceinline__ KeptWeights(const Keys<Spec>& keys, const Step& step, int chunk) {
    const PairDropout& dropout = keys.p.dropout;
    if (!dropout.any()) return;
    const int lane = gpu::opaque(gpu::lane_index());  // else all of this is kept from step to step
    const int64_t head = int64_t{keys.work.entry()} * keys.p.q_heads + step.head;
    const int first_row = step.q_tile * Spec::tile_q + keys.own_query + chunk * Spec::tuning.chunk_q;
    const int first_block = (keys.work.first_key + keys.own_key) / PairDropout::kKeys;
    uint32_t drawn = 0;  // eight bits a number
#pragma unroll
    for (int i = 0; i < kNumbers / 8; ++i) {
      const int number = 8 * i + lane / 4;
      const int query = number / kBlocks;  // of the lane's
      const int row = first_row + 8 * (query / 2) + 2 * (lane % 4) + query % 2;
      drawn |= dropout.kept(head, row, first_block + number % kBlocks) << (8 * i);
    }
#pragma unroll
    for (int from = 0; from < 8; ++from) {
      const uint32_t theirs = gpu::as_bits(gpu::shuffle(gpu::as_float(drawn), 4 * from + lane % 4));
      bits |= (theirs >> (lane / 4) & 0x01010101U) << from;  // of this lane's key in eight
    }
  }

  __device__ __forceinline__ bool has(int r, int n, int i) const {
    const int query = 2 * n + i % 2, block = 2 * r + i / 2;
    return (bits >> (query * kBlocks + block) & 1) != 0;
  }
};

// P as dV gains by it; raised at the end, with dV.
template <class Spec>
__device__ __forceinline__ void drop_weights(typename Keys<Spec>::Scores& P, const Keys<Spec>& keys,
                                             const KeptWeights<Spec>& kept) {
  if (!keys.p.dropout.any()) return;
  Keys<Spec>::each_score([&](int r, int n, int i) { P[r][n][i] = kept.has(r, n, i) ? P[r][n][i] : 0.0F; });
}

// dP: of the weights before anything is left out.
template <class Spec>
__device__ __forceinline__ void drop_gradients(typename Keys<Spec>::Scores& dP, const Keys<Spec>& keys,
                                               const KeptWeights<Spec>& kept) {
  const PairDropout& dropout = keys.p.dropout;
  if (!dropout.any()) return;
  Keys<Spec>::each_score(
      [&](int r, int n, int i) { dP[r][n][i] = kept.has(r, n, i) ? dP[r][n][i] * dropout.raise() : 0.0F; });
}

}  // namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET
