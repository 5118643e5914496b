// SPDX-License-Identifier: MIT
// The oracle for gradients: float64, in the plainest code there is, with a bound for every element.
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

  // What a backend would be given by its forward, both or none: [B, Hq, Sq, D], and [B, Hq, Sq] dense.
  // Gradients are then those of exactly these, P = exp(scale q k^T - lse) and delta = dout . out, whoever
  // made them. Without, the forward is computed here, and the bounds allow for a backend's own.
  std::optional<Tensor> out{};
  const float* lse = nullptr;
  Lengths lengths{};  // as for attention_forward
  Spans spans{};      // the same
  Scores scores{};    // as for attention_forward
  // Where the gradient of scores.attn_mask is wanted: to which element each pair of [B, Hq, Sq, Skv] adds.
  std::optional<std::array<int64_t, 4>> dattn_mask_strides{};
};

// A gradient, and how far from it a backend may be; both dense in the shape of their tensor.
struct Gradient {
  std::vector<double> value;
  std::vector<double> bound;
};

struct BackwardResult {
  Gradient dq;          // [B, Hq, Sq, D]
  Gradient dk, dv;      // [B, Hkv, Skv, D]: sums over the query heads that share a K/V head
  Gradient dsinks;      // [Hq]; empty without sinks
  Gradient dattn_mask;  // by its strides; empty where it is not wanted
};

// Rows that see no key, and keys that no row sees, have gradient 0. The bounds (bound.h has their terms) are
// for a backend that is given out and LSE by any honest forward, computes P = exp(scale q k^T - LSE) and
// everything else in fp32, in any order and tiling, and may round P and dS to the input's type before it
// multiplies by them. fp16: only where dS and the gradients stay below 65504.
// `first`: as for attention_forward.
BackwardResult attention_backward(const ForwardProblem& problem, const BackwardInputs& inputs,
                                  int64_t first = 0);

}  // namespace flashmoe::reference
