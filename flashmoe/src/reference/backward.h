// SPDX-License-Identifier: MIT
// The oracle for gradients: float64, as plain as possible, with an error bound for every element.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "flashmoe/attention.h"
#include "problem/forward_problem.h"

namespace flashmoe::reference {

struct BackwardInputs {
  Tensor q, k, v;               // as for attention_forward
  Tensor dout;                  // [B, Hq, Sq, D]: the gradient of out
  const float* dlse = nullptr;  // [B, Hq, Sq] dense: the gradient of the LSE; null counts as 0

  // Out [B, Hq, Sq, D] and LSE (dense [B, Hq, Sq]) as a backend's forward stored them; give both or none. If
  // given, gradients are of P = exp(scale q k^T - lse) and delta = dout . out with exactly these values. If
  // not, the forward is computed here and the bounds allow for a backend's own.
  std::optional<Tensor> out{};
  const float* lse = nullptr;
  Lengths lengths{};  // as for attention_forward
  Spans spans{};      // as for attention_forward
  Scores scores{};    // as for attention_forward
  // Set if the gradient of scores.attn_mask is wanted: strides of the element that each (row, key) adds to.
  std::optional<std::array<int64_t, 4>> dattn_mask_strides{};
};

// A gradient and the largest error allowed for each element; both dense, in the shape of their tensor.
struct Gradient {
  std::vector<double> value;
  std::vector<double> bound;
};

struct BackwardResult {
  Gradient dq;          // [B, Hq, Sq, D]
  Gradient dk, dv;      // [B, Hkv, Skv, D]: sums over the query heads that share a K/V head
  Gradient dsinks;      // [Hq]; empty without sinks
  Gradient dattn_mask;  // addressed by dattn_mask_strides; empty if not wanted
};

// Rows that see no key, and keys that no row sees, have gradient 0. Bounds (terms in bound.h) hold for a
// backend that gets out and LSE from a correct forward, computes P = exp(scale q k^T - LSE) and everything
// else in fp32, in any order and tiling, and may round P and dS to the input's type before multiplying. fp16:
// only if dS and the gradients stay below 65504.
// `first` as for the oracle's attention_forward.
BackwardResult attention_backward(const ForwardProblem& problem, const BackwardInputs& inputs,
                                  int64_t first = 0);

}  // namespace flashmoe::reference
