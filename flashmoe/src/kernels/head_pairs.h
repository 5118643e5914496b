// SPDX-License-Identifier: MIT
// How the scores of one query head change where a tensor adds to them.
#pragma once

#include <cmath>

#include "kernels/head_scores.h"
#include "kernels/pair_params.h"
#include "numeric/half.h"
#include "primitives/arithmetic.h"
#include "primitives/memory.h"

namespace flashmoe::kernels::inline FLASHMOE_TARGET {

struct HeadPairScores : HeadScores {
  const PairParams& pairs;
  int64_t first;  // element of the head's first row and key

  __device__ HeadPairScores(const PairScoreParams& p, int batch, int head)
      : HeadScores(p, batch, head),
        pairs(p.pairs),
        first(batch * p.pairs.batch_stride + head * p.pairs.head_stride) {}

  __device__ __forceinline__ ScoreFunction::Changed operator()(float score, int q_row, int key) const {
    ScoreFunction::Changed changed = HeadScores::operator()(score, q_row, key);
    changed.score += added(q_row, key);
    return changed;
  }

  // By the tensor, in units of log2. Rows and keys past the end have no value, and nobody sees their scores.
  __device__ __forceinline__ float added(int q_row, int key) const {
    if (q_row >= pairs.q_rows || key >= pairs.kv_rows) return 0;
    return added_in_log2(value(first + q_row * pairs.row_stride + key * pairs.key_stride));
  }

 private:
  __device__ __forceinline__ float value(int64_t at) const {
    switch (pairs.type) {
      case PairType::fp32:
        return gpu::load_global(static_cast<const float*>(pairs.data) + at);
      case PairType::fp16:
        return gpu::widen(gpu::load_global(static_cast<const fp16*>(pairs.data) + at));
      case PairType::bf16:
        return gpu::widen(gpu::load_global(static_cast<const bf16*>(pairs.data) + at));
      case PairType::boolean:
        break;
    }
    return gpu::load_global(static_cast<const unsigned char*>(pairs.data) + at) != 0 ? 0.0F : -INFINITY;
  }
};

// What a query head's scores go through.
__device__ inline HeadScores of_head(const ScoreParams& scores, int batch, int head) {
  return {scores, batch, head};
}
__device__ inline HeadPairScores of_head(const PairScoreParams& scores, int batch, int head) {
  return {scores, batch, head};
}

}  // namespace flashmoe::kernels::inline FLASHMOE_TARGET
