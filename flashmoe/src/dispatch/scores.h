// SPDX-License-Identifier: MIT
// How scores change, as kernels are told it, and in which form.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "flashmoe/attention.h"
#include "kernels/pair_params.h"
#include "kernels/score_params.h"
#include "numeric/dropout.h"
#include "numeric/pair_value.h"
#include "problem/forward_problem.h"

namespace flashmoe::dispatch {

inline constexpr double kLog2E = 1.4426950408889634;

// Tensor-core kernels multiply scores by scale * log2(e) inside one fused step, and rely on -inf staying -inf
// there, unless they have a form for other scales.
inline bool is_plain_scale(float scale) {
  const double factor = scale * kLog2E;
  return factor >= std::numeric_limits<float>::min() && factor <= std::numeric_limits<float>::max();
}

// Whether nothing but a tensor is general: tensor-core kernels have forms for that. Sinks and scales don't
// count.
inline bool has_only_a_tensor(const ForwardProblem& p) {
  return p.attn_mask && p.softcap == 0 && !p.slopes && !p.spans.given() && !p.lengths.given &&
         p.dropout.p == 0;
}

// Where it says no more than which pairs count: one bit for each pair does. Gradients have sinks in their
// LSE, and any scale.
inline bool counts_by_bits(const ForwardProblem& p) {
  return has_only_a_tensor(p) && p.pairs.type == PairType::boolean;
}

// The same of a forward, which has a form for bits alone.
inline bool takes_bits(const ForwardProblem& p) {
  return counts_by_bits(p) && !p.sinks && is_plain_scale(p.scale);
}

// Where it is added to scores, in the type that everything else has.
inline bool adds_bias(const ForwardProblem& p) {
  return has_only_a_tensor(p) && static_cast<int>(p.pairs.type) == static_cast<int>(p.dtype);
}

// The form of hopper_forward; nothing where it has none: ampere_forward has one for everything.
inline std::optional<kernels::Change> forward_change(const ForwardProblem& p) {
  using kernels::Change;
  if (takes_bits(p)) return Change::none;
  if (adds_bias(p)) return Change::bias;
  if (p.dropout.p > 0 || p.attn_mask || (p.softcap > 0 && p.slopes)) return {};
  if (p.spans.given() && (p.changes_scores() || p.sinks || !is_plain_scale(p.scale))) return {};
  if (p.softcap > 0) return Change::softcap;
  if (p.slopes && !is_plain_scale(p.scale)) return {};
  if (p.slopes) return Change::slopes;
  if (!is_plain_scale(p.scale)) return Change::scaled;
  return p.sinks ? Change::sinks : Change::none;
}

// Above, shared memory of hopper_backward has no room for a tile of what is added.
inline constexpr int64_t kMaxHeadDimOfBias = 128;

// The form of hopper_backward, which takes any scale, and for which sinks are part of the LSE.
inline std::optional<kernels::Change> backward_change(const ForwardProblem& p) {
  using kernels::Change;
  if (counts_by_bits(p)) return Change::none;
  if (adds_bias(p) && p.head_dim <= kMaxHeadDimOfBias) return Change::bias;
  if (p.dropout.p > 0 || p.attn_mask || (p.softcap > 0 && p.slopes)) return {};
  if (p.spans.given() && p.changes_scores()) return {};
  if (p.softcap > 0) return Change::softcap;
  if (p.slopes && !is_plain_scale(p.scale)) return {};
  return p.slopes ? Change::slopes : Change::none;
}

// Why only general forms and scalar kernels take a problem.
inline constexpr const char* kDropout = "dropout";

inline PairDropout dropout_of(const ForwardProblem& p) { return {p.dropout.p, p.dropout.seed}; }

inline kernels::ScoreParams scores_of(const ForwardProblem& p, const Scores& scores) {
  return {.function = ScoreFunction(p.softcap),
          .slopes = scores.alibi_slopes,
          .slopes_batch_stride = scores.slopes_batch_stride,
          .sinks = scores.sinks,
          // With lengths each sequence has its own.
          .first_position = p.lengths.given ? 0 : static_cast<int>(p.first_position()),
          .inner = p.softcap > 0 ? p.scale / p.softcap : p.scale,
          .inverse_scale = 1 / p.scale};
}

// As ampere_forward's general form is told it: scores in units of log2, and no scale for what follows, unless
// nothing changes them but a plain scale, which is then left to what follows.
inline bool is_scaled_behind(const ForwardProblem& p) {
  return !p.changes_scores() && is_plain_scale(p.scale);
}

inline kernels::ScoreParams general_scores_of(const ForwardProblem& p, const Scores& scores) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  kernels::ScoreParams params = scores_of(p, scores);
  if (p.softcap == 0)
    params.inner =
        is_scaled_behind(p) ? 1.0F : static_cast<float>(std::clamp(p.scale * kLog2E, -kLargest, kLargest));
  return params;
}

inline float general_scale_behind(const ForwardProblem& p) {
  return is_scaled_behind(p) ? static_cast<float>(p.scale * kLog2E) : 1.0F;
}

// Whether neighbouring keys of any row, in twos from the first one on, are whole and aligned.
inline bool lies_by_two(const ForwardProblem& p, const PairTensor& pairs) {
  const auto at = reinterpret_cast<std::uintptr_t>(pairs.data);
  return pairs.strides[3] == 1 && p.kv_rows % 2 == 0 &&
         at % static_cast<std::uintptr_t>(2 * element_bytes(pairs.type)) == 0 &&
         std::all_of(pairs.strides.begin(), pairs.strides.end() - 1,
                     [](int64_t stride) { return stride % 2 == 0; });
}

// As scores_of, where a tensor is part of it, or could be.
inline kernels::PairScoreParams pair_scores_of(const ForwardProblem& p, const Scores& scores) {
  if (!p.attn_mask) return {scores_of(p, scores), {}};
  const PairTensor& pairs = scores.attn_mask;
  return {scores_of(p, scores),
          {.data = pairs.data,
           .type = pairs.type,
           .by_two = lies_by_two(p, pairs),
           .batch_stride = pairs.strides[0],
           .head_stride = pairs.strides[1],
           .row_stride = pairs.strides[2],
           .key_stride = pairs.strides[3],
           .q_rows = static_cast<int>(p.q_rows),
           .kv_rows = static_cast<int>(p.kv_rows)}};
}

// The scale of what follows the change, times log2(e).
inline float scale_behind(kernels::Change change, const ForwardProblem& p) {
  using kernels::Change;
  const double scale = change == Change::softcap                            ? p.softcap
                       : change == Change::scaled || change == Change::bias ? 1.0
                                                                            : p.scale;
  return static_cast<float>(scale * kLog2E);
}

}  // namespace flashmoe::dispatch
