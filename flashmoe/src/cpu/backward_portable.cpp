// SPDX-License-Identifier: MIT
// Gradients for machines and builds without SIMD dispatch: one row against one key at a time, plain C++.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "cpu/arena.h"
#include "cpu/backward_kernels.h"
#include "cpu/cancel.h"
#include "cpu/pair_of.h"
#include "cpu/store_row.h"
#include "numeric/dropout.h"
#include "numeric/half.h"
#include "numeric/score_function.h"

namespace flashmoe::cpu {
namespace {

struct Scratch {
  float *dk, *dv;   // sums, [key][head_dim]
  float *q, *dout;  // one row
  std::size_t bytes;

  Scratch(std::byte* base, const ForwardProblem& p, int64_t keys) {
    Arena arena(base);
    dk = arena.take<float>(keys * p.head_dim);
    dv = arena.take<float>(keys * p.head_dim);
    q = arena.take<float>(p.head_dim);
    dout = arena.take<float>(p.head_dim);
    bytes = arena.bytes();
  }
};

template <class T>
void differentiate(const BackwardTask& task) {
  const ForwardProblem& p = *task.problem;
  const int64_t dim = p.head_dim;
  const int64_t rows = p.group() * p.q_rows;
  const int64_t keys = task.kv_end - task.kv_begin;
  const Scratch scratch(task.scratch, p, keys);
  const ScoreFunction function(p.softcap);
  const PairDropout dropout(p.dropout.p, p.dropout.seed);
  const auto all_q = task.q.as<const T>(p.group());
  const auto all_out = task.out.as<const T>(p.group());
  const auto all_dout = task.dout.as<const T>(p.group());
  const auto all_k = task.k.as<const T>(1);
  const auto all_v = task.v.as<const T>(1);
  std::fill_n(scratch.dk, keys * dim, 0.0F);
  std::fill_n(scratch.dv, keys * dim, 0.0F);
  std::fill_n(task.dq_sums, rows * dim, 0.0F);

  for (int64_t r = 0; r < rows && !is_cancelled(task.cancel); ++r) {
    const RowStatistics row = row_statistics(task, r);
    if (row.weighs_nothing()) continue;
    const Range seen = p.visible(r / p.group());
    const Range gap = p.gap(r / p.group());
    const int64_t end = std::min(task.kv_end, seen.end);
    const T* out = all_out[r];
    float delta = -row.dlse;
    for (int64_t d = 0; d < dim; ++d) {
      scratch.q[d] = to_float(all_q[r][d]);
      scratch.dout[d] = to_float(all_dout[r][d]);
      delta += scratch.dout[d] * to_float(out[d]);
    }
    float* dq = task.dq_sums + r * dim;
    const int64_t position = p.first_position() + r / p.group();
    const float slope = task.scores.slopes == nullptr ? 0.0F : task.scores.slopes[r % p.group()];
    for (int64_t j = std::max(task.kv_begin, seen.begin); j < end; ++j) {
      if (j >= gap.begin && j < gap.end) continue;
      const T* k = all_k[j];
      const T* v = all_v[j];
      float s = 0;
      float dp = 0;
      for (int64_t d = 0; d < dim; ++d) {
        s += scratch.q[d] * to_float(k[d]);
        dp += scratch.dout[d] * to_float(v[d]);
      }
      ScoreFunction::Changed score{s * p.scale * kLog2E, 1.0F};
      if (p.changes_scores())
        score = function(score.score, slope, static_cast<float>(std::abs(position - j)));
      score.score += pair_of(task.scores, r % p.group(), r / p.group(), j);
      float weight = std::exp2(score.score - lse_log2(row.lse));
      float changed = weight * (dp - delta);
      if (p.dropout.p > 0) {
        const float factor = dropout.factor(task.scores.first_head + r % p.group(), r / p.group(), j);
        changed = weight * (drop(dp, factor) - delta);
        weight = drop(weight, factor);
      }
      if (task.dpairs.data != nullptr) {
        const auto& strides = task.dpairs.strides;
        task.dpairs.data[r % p.group() * strides[1] + r / p.group() * strides[2] + j * strides[3]] += changed;
      }
      const float ds = changed * score.derivative;
      float* dk = scratch.dk + (j - task.kv_begin) * dim;
      float* dv = scratch.dv + (j - task.kv_begin) * dim;
      for (int64_t d = 0; d < dim; ++d) {
        dv[d] += weight * scratch.dout[d];
        dk[d] += ds * scratch.q[d];
        dq[d] += ds * to_float(k[d]);
      }
    }
  }

  const auto store = [&](const float* from, float scale, T* to) {
    for (int64_t d = 0; d < dim; ++d) to[d] = from_float<T>(from[d] * scale);
  };
  for (int64_t j = 0; j < keys; ++j) {
    store(scratch.dk + j * dim, p.scale, task.dk.as<T>(1)[task.kv_begin + j]);
    store(scratch.dv + j * dim, 1.0F, task.dv.as<T>(1)[task.kv_begin + j]);
  }
  if (!task.stores_dq) return;
  for (int64_t r = 0; r < rows; ++r) store(task.dq_sums + r * dim, p.scale, task.dq.as<T>(p.group())[r]);
}

void differentiate_any(const BackwardTask& task) {
  switch (task.problem->dtype) {
    case DType::fp32:
      return differentiate<float>(task);
    case DType::fp16:
      return differentiate<fp16>(task);
    case DType::bf16:
      return differentiate<bf16>(task);
  }
}

}  // namespace

const BackwardKernel& portable_backward_kernel() {
  static constexpr BackwardKernel kernel{
      .name = "portable",
      .reason = "plain C++, since the build or the machine has no SIMD kernel",
      .differentiate = differentiate_any,
      .scratch_bytes = [](const ForwardProblem& p, int64_t keys) { return Scratch(nullptr, p, keys).bytes; },
      .panel_rows = 1,
      .sum_stride = [](int64_t head_dim) { return head_dim; },
      .packing_keys = 0,
      .core_flop_per_us = 2e3};
  return kernel;
}

}  // namespace flashmoe::cpu
