// SPDX-License-Identifier: MIT
// How the scores of one query head change.
#pragma once

#include <cmath>

#include "kernels/score_params.h"
#include "primitives/memory.h"

namespace flashmoe::kernels::inline FLASHMOE_TARGET {

struct HeadScores {
  const ScoreParams& params;
  float slope = 0;

  __device__ HeadScores(const ScoreParams& p, int batch, int head) : params(p) {
    if (p.slopes != nullptr) slope = gpu::load_global(p.slopes + batch * p.slopes_batch_stride + head);
  }

  // Of a score in units of log2.
  __device__ __forceinline__ ScoreFunction::Changed operator()(float score, int q_row, int key) const {
    return params.function(score, slope, fabsf(static_cast<float>(q_row + params.first_position - key)));
  }
};

}  // namespace flashmoe::kernels::inline FLASHMOE_TARGET
