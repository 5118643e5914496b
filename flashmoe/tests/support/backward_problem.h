// SPDX-License-Identifier: MIT
// A backward problem with its data: a forward problem, its results as an exact forward would store them, and
// gradients of those.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reference/backward.h"
#include "support/problem.h"

namespace flashmoe::test {

// Owns memory for everything. dq, dk, dv, and gaps between rows, are poisoned with NaN.
class BackwardProblem {
 public:
  // `with_dlse`: the LSE has a gradient too.
  explicit BackwardProblem(const Shape& shape, bool with_dlse = false);

  Problem forward;  // q, k, v; out and lse hold the oracle's, rounded
  Tensor dout;      // [B, Hq, Sq, D]
  Tensor dq;
  Tensor dk, dv;
  const float* dlse() const { return dlse_.empty() ? nullptr : dlse_.data(); }
  float* dsinks() const { return dsinks_.empty() ? nullptr : dsinks_.data(); }
  // Of a tensor that is added to scores, shared as that is.
  std::size_t dattn_mask_bytes() const { return dattn_mask_.size() * sizeof(float); }
  PairGradient dattn_mask() const {
    return {dattn_mask_.empty() ? nullptr : dattn_mask_.data(), dattn_mask_strides_};
  }

  reference::BackwardResult oracle() const;

  // "" when dq, dk and dv agree with the oracle everywhere, and nothing was written between their rows; else
  // the count, the first bad element and both values.
  std::string disagreement() const { return disagreement(oracle()); }
  std::string disagreement(const reference::BackwardResult& expected) const;

  // dq, dk and dv as they were before a run. To make the problem anew would run the oracle's forward again.
  void poison_gradients();

  // Raw bytes of dq, dk and dv, for bitwise comparisons.
  std::vector<std::byte> gradient_bytes() const;

 private:
  std::vector<std::byte> dout_, dq_, dk_, dv_;
  std::vector<float> dlse_;
  mutable std::vector<float> dsinks_, dattn_mask_;  // as writable as what the tensors point at
  std::array<int64_t, 4> dattn_mask_strides_{};
};

}  // namespace flashmoe::test
