// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "numeric/dropout.h"
#include "problem/forward_problem.h"

namespace flashmoe::reference {

// Dropout factors of one query row: each weight is multiplied by 0 or by 1 / (1 - p).
class RowDropout {
 public:
  // `head` is the index over all batch entries or sequences.
  RowDropout(const ForwardProblem& p, int64_t head, int64_t row)
      : dropout_(p.dropout.p, p.dropout.seed), any_(p.dropout.p > 0), head_(head), row_(row) {}

  double factor(int64_t key) const { return any_ ? dropout_.factor(head_, row_, key) : 1.0; }

 private:
  PairDropout dropout_;
  bool any_;
  int64_t head_, row_;
};

}  // namespace flashmoe::reference
