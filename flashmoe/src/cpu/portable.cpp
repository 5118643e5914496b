// SPDX-License-Identifier: MIT
// The kernel for machines and builds without SIMD dispatch: one row at a time, a block of keys at a time,
// plain C++.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "cpu/cancel.h"
#include "cpu/kernels.h"
#include "cpu/pair_of.h"
#include "cpu/store_row.h"
#include "numeric/dropout.h"
#include "numeric/half.h"
#include "numeric/score_function.h"

namespace flashmoe::cpu {
namespace {

constexpr int64_t kBlock = 64;  // keys whose weights are kept at once

template <class T>
void attend(const Task& task) {
  const ForwardProblem& p = *task.problem;
  const int64_t dim = p.head_dim;
  const float scale_log2e = p.scale * kLog2E;
  const ScoreFunction function(p.softcap);
  const PairDropout dropout(p.dropout.p, p.dropout.seed);
  float* q = reinterpret_cast<float*>(task.scratch);
  float* sum = q + dim;
  float* block_sum =
      sum + dim;  // a sum of its own for each block of keys: in one sum, roundings would add up
  float weights[kBlock];
  for (int64_t row = task.row_begin; row < task.row_end && !is_cancelled(task.cancel); ++row) {
    const int64_t position = row / p.group();
    const int64_t head = row % p.group();
    const T* q_row = static_cast<const T*>(task.q) + head * task.q_head_stride + position * task.q_row_stride;
    for (int64_t d = 0; d < dim; ++d) q[d] = to_float(q_row[d]) * scale_log2e;
    std::fill_n(sum, dim, 0.0F);
    RowState state;
    const float slope = task.scores.slopes == nullptr ? 0.0F : task.scores.slopes[head];
    const Range seen = p.visible(position);
    const Range gap = p.gap(position);
    const int64_t kv_end = std::min(task.kv_end, seen.end);
    for (int64_t begin = std::max(task.kv_begin, seen.begin); begin < kv_end; begin += kBlock) {
      const int64_t count = std::min(kBlock, kv_end - begin);
      float largest = state.max;
      const auto hidden = [&](int64_t j) { return begin + j >= gap.begin && begin + j < gap.end; };
      for (int64_t j = 0; j < count; ++j) {
        if (hidden(j)) continue;
        const T* k = static_cast<const T*>(task.k) + (begin + j) * task.k_row_stride;
        float dot = 0;
        for (int64_t d = 0; d < dim; ++d) dot += q[d] * to_float(k[d]);
        if (p.changes_scores()) {
          const int64_t distance = std::abs(p.first_position() + position - (begin + j));
          dot = function(dot, slope, static_cast<float>(distance)).score;
          dot += pair_of(task.scores, head, position, begin + j);
        }
        weights[j] = dot;
        if (dot > largest || std::isnan(dot)) largest = dot;  // once NaN, always NaN
      }
      if (largest == -std::numeric_limits<float>::infinity()) continue;
      const float rescale = std::exp2(state.max - largest);
      state.max = largest;
      state.sum *= rescale;
      float block_weight = 0;
      std::fill_n(block_sum, dim, 0.0F);
      for (int64_t j = 0; j < count; ++j) {
        if (hidden(j)) continue;
        float weight = std::exp2(weights[j] - largest);
        block_weight += weight;
        if (p.dropout.p > 0)
          weight = drop(weight, dropout.factor(task.scores.first_head + head, position, begin + j));
        const T* v = static_cast<const T*>(task.v) + (begin + j) * task.v_row_stride;
        for (int64_t d = 0; d < dim; ++d) block_sum[d] += weight * to_float(v[d]);
      }
      state.sum += block_weight;
      for (int64_t d = 0; d < dim; ++d) sum[d] = sum[d] * rescale + block_sum[d];
    }
    store_row<T>(task, row, sum, state);
  }
}

void attend_any(const Task& task) {
  switch (task.problem->dtype) {
    case DType::fp32:
      return attend<float>(task);
    case DType::fp16:
      return attend<fp16>(task);
    case DType::bf16:
      return attend<bf16>(task);
  }
}

}  // namespace

const Kernel& portable_kernel() {
  static constexpr Kernel kernel{
      .name = "portable",
      .reason = "plain C++, since the build or the machine has no SIMD kernel",
      .attend = attend_any,
      .scratch_bytes = [](const ForwardProblem& p,
                          int64_t) { return static_cast<std::size_t>(3 * p.head_dim) * sizeof(float); },
      .panel_rows = 1,
      .packing_rows = 0};
  return kernel;
}

}  // namespace flashmoe::cpu
