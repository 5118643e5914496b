// SPDX-License-Identifier: MIT
// What becomes of the scores of one query row before the softmax, and of the errors that a backend may leave
// in them.
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
    double size;              // as logit_error wants it: so that it covers what happened here too
    double derivative;        // by the logit
    double derivative_error;  // how far a backend's may be from it
  };

  // Of the logit of key j, which is the sum of products that have this size together.
  Changed operator()(int64_t j, double logit, double size) const {
    Changed changed{.score = logit, .size = size, .derivative = 1, .derivative_error = 0};
    if (p_.softcap > 0) cap(changed);
    // Slope times log2(e), times the distance, which is rounded too, added: four roundings of no more.
    const double bias = -slope_ * static_cast<double>(std::abs(position_ - j));
    changed.score += bias;
    changed.size += std::abs(bias);
    if (pairs_.data == nullptr) return changed;
    // Times log2(e), added: two roundings of no more.
    const double added = pair_value(pairs_, first_pair_ + j * pairs_.strides[3]);
    changed.score += added;
    if (std::isfinite(added)) changed.size += std::abs(added);
    return changed;
  }

  // The score of a key without a value; -inf where there is none.
  double sink() const { return sink_; }

 private:
  // cap * tanh(logit / cap). An error moves it by less, the further from 0 it is.
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

// The tensor of one sequence, which begins with these rows and keys.
inline PairTensor pairs_of(const PairTensor& all, const BatchRows& q, const BatchRows& k) {
  PairTensor part = all;
  if (all.data == nullptr) return part;
  const int64_t at = q.batch * all.strides[0] + q.rows.begin * all.strides[2] + k.rows.begin * all.strides[3];
  part.data = static_cast<const std::byte*>(all.data) + at * element_bytes(all.type);
  return part;
}

}  // namespace flashmoe::reference
