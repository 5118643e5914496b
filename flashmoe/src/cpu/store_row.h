// SPDX-License-Identifier: MIT
// The end of a row: normalise and store it, or leave it as a partial for the combine step.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/task.h"
#include "numeric/half.h"
#include "numeric/score_function.h"

namespace flashmoe::cpu {

inline constexpr float kLog2E = 1.44269504088896341F;

struct RowState {
  float max = -std::numeric_limits<float>::infinity();  // of scale * log2(e) * q k
  float sum = 0;                                        // of exp2(score - max)
};

inline float log_sum_exp(RowState state) {
  return state.sum == 0 ? -std::numeric_limits<float>::infinity()
                        : (state.max + std::log2(state.sum)) * 0.693147180559945309F;
}

// How a row of query head `head` of the group ends: by what its weighted sum is multiplied, and its LSE.
struct RowEnd {
  float factor;
  float lse;

  RowEnd(const Task& task, int64_t head, RowState state) {
    factor = state.sum == 0 ? 0.0F : 1.0F / state.sum;
    if (task.scores.sinks != nullptr) {
      const RowWithSink with_sink(state.max, state.sum, task.scores.sinks[head]);
      state = {with_sink.max, with_sink.sum};
      factor = with_sink.factor;
    }
    lse = log_sum_exp(state);
  }
};

// `weighted` is the row's sum of exp2(score - max) * v, head_dim long.
template <class T>
void store_row(const Task& task, int64_t row, const float* weighted, RowState state) {
  const int64_t dim = task.problem->head_dim;
  if (task.partial_out != nullptr) {
    const int64_t i = row - task.row_begin;
    std::copy_n(weighted, dim, task.partial_out + i * dim);
    task.partial_max[i] = state.max;
    task.partial_sum[i] = state.sum;
    return;
  }
  const int64_t position = row / task.problem->group();
  const int64_t head = row % task.problem->group();
  T* out = static_cast<T*>(task.out) + head * task.out_head_stride + position * task.out_row_stride;
  const RowEnd end(task, head, state);
  for (int64_t d = 0; d < dim; ++d) out[d] = from_float<T>(weighted[d] * end.factor);
  if (task.lse != nullptr) task.lse[head * task.lse_head_stride + position] = end.lse;
}

}  // namespace flashmoe::cpu
