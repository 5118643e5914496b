// SPDX-License-Identifier: MIT
// Changes to one query row's scores before the softmax (softcap, ALiBi, mask tensor, sink), and the errors
// that a backend may make in them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "flashmoe/attention.h"
#include "numeric/pair_value.h"
#include "problem/forward_problem.h"
#include "problem/sequences.h"
#include "reference/bound.h"

namespace flashmoe::reference {

class ScoreRow {
 public:
  ScoreRow(const ForwardProblem& p, const Scores& scores, int64_t batch, int64_t head, int64_t row)
      : p_(p), position_(row + p.first_position()) {
    if (scores.alibi_slopes != nullptr)
      slope_ = scores.alibi_slopes[batch * scores.slopes_batch_stride + head];
    if (scores.sinks != nullptr) sink_ = scores.sinks[head];
    pairs_ = scores.attn_mask;
    const auto& strides = pairs_.strides;
    first_pair_ = batch * strides[0] + head * strides[1] + row * strides[2];
  }

  struct Changed {
    double score;
    double size;              // magnitude for logit_error, including the changes
    double derivative;        // d score / d logit
    double derivative_error;  // largest error of a backend's derivative
  };

  // Changes the logit of key j; `size` is the sum of magnitudes of its products.
  Changed operator()(int64_t j, double logit, double size) const {
    Changed changed{.score = logit, .size = size, .derivative = 1, .derivative_error = 0};
    if (p_.softcap > 0) cap(changed);
    // Slope times log2(e), times the distance (also rounded), added: at most four roundings.
    const double bias = -slope_ * static_cast<double>(std::abs(position_ - j));
    changed.score += bias;
    changed.size += std::abs(bias);
    if (pairs_.data == nullptr) return changed;
    // The bias times log2(e), added: at most two roundings.
    const double added = pair_value(pairs_, first_pair_ + j * pairs_.strides[3]);
    changed.score += added;
    if (std::isfinite(added)) changed.size += std::abs(added);
    return changed;
  }

  // The sink's score, a key without a value; -inf if the head has no sink.
  double sink() const { return sink_; }

 private:
  // cap * tanh(logit / cap). The further the logit is from 0, the less an error of it changes the result.
  void cap(Changed& changed) const {
    const double cap = p_.softcap;
    const double unit = logit_rounding(p_.head_dim);
    const double error = unit * changed.size;
    const double capped = cap * std::tanh(changed.score / cap);
    const double moved = std::max(std::abs(cap * std::tanh((changed.score + error) / cap) - capped),
                                  std::abs(cap * std::tanh((changed.score - error) / cap) - capped));
    const double inexact = Precision::of(p_.dtype).tanh * std::abs(capped);
    const double tanh = capped / cap;
    changed.derivative = 1 - tanh * tanh;
    changed.derivative_error = std::min(1.0, 2 * std::abs(tanh) * (moved + inexact) / cap + 2 * kUnit);
    changed.score = capped;
    changed.size = (moved + inexact) / unit + std::abs(capped);
  }

  const ForwardProblem& p_;
  int64_t position_;
  double slope_ = 0;
  PairTensor pairs_{};
  int64_t first_pair_ = 0;
  double sink_ = -std::numeric_limits<double>::infinity();
};

// The part of the mask tensor that belongs to one sequence, whose first row and key are given.
inline PairTensor pairs_of(const PairTensor& all, const BatchRows& q, const BatchRows& k) {
  PairTensor part = all;
  if (all.data == nullptr) return part;
  const int64_t at = q.batch * all.strides[0] + q.rows.begin * all.strides[2] + k.rows.begin * all.strides[3];
  part.data = static_cast<const std::byte*>(all.data) + at * element_bytes(all.type);
  return part;
}

}  // namespace flashmoe::reference
