// SPDX-License-Identifier: MIT
// A backward problem with its data: a forward problem, its out and lse rounded as an exact forward would
// store them, and gradients of these.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reference/backward.h"
#include "support/problem.h"

namespace flashmoe::test {

// Owns all memory. dq, dk, dv, and gaps between rows, are poisoned with NaN.
class BackwardProblem {
 public:
  // `with_dlse`: also gives the LSE a gradient.
  explicit BackwardProblem(const Shape& shape, bool with_dlse = false);

  Problem forward;  // q, k, v; out and lse hold the oracle's results, rounded
  Tensor dout;      // [B, Hq, Sq, D]
  Tensor dq;
  Tensor dk, dv;
  const float* dlse() const { return dlse_.empty() ? nullptr : dlse_.data(); }
  float* dsinks() const { return dsinks_.empty() ? nullptr : dsinks_.data(); }
  // Gradient of a tensor that is added to scores, with the same shared dimensions.
  std::size_t dattn_mask_bytes() const { return dattn_mask_.size() * sizeof(float); }
  PairGradient dattn_mask() const {
    return {dattn_mask_.empty() ? nullptr : dattn_mask_.data(), dattn_mask_strides_};
  }

  reference::BackwardResult oracle() const;

  // "" if dq, dk and dv agree with the oracle and nothing was written between their rows; otherwise the
  // number of bad elements, the first one and both values.
  std::string disagreement() const { return disagreement(oracle()); }
  std::string disagreement(const reference::BackwardResult& expected) const;

  // Poisons dq, dk and dv again. Constructing a new problem would run the oracle's forward again.
  void poison_gradients();

  // Raw bytes of dq, dk and dv, for bitwise comparisons.
  std::vector<std::byte> gradient_bytes() const;

 private:
  std::vector<std::byte> dout_, dq_, dk_, dv_;
  std::vector<float> dlse_;
  mutable std::vector<float> dsinks_, dattn_mask_;  // mutable like the memory that tensors point to
  std::array<int64_t, 4> dattn_mask_strides_{};
};

}  // namespace flashmoe::test
