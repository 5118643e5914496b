// SPDX-License-Identifier: MIT
// Whether what changes scores and weights can be right.
#pragma once

#include "api/check_tensors.h"
#include "flashmoe/attention.h"

namespace flashmoe {

// Of the values, the cap alone is looked at: the others may lie on a GPU. The problem knows of them then.
void check_scores(const TensorChecks& checks, const Scores& scores, const Lengths& lengths,
                  ForwardProblem& problem);
void check_dropout(const TensorChecks& checks, const Dropout& dropout, ForwardProblem& problem);

// The gradient of scores.attn_mask, where it is wanted, as a tensor: dimensions that its elements are sums
// over have the size 1.
Tensor pair_gradient(const PairGradient& gradient, const ForwardProblem& problem);
// Whether it can be had, and has such strides.
void check_pair_gradient(const TensorChecks& checks, const PairGradient& gradient, const Scores& scores,
                         const ForwardProblem& problem);

// The arrays that there are, for TensorChecks::apart.
struct ScoresBytes {
  ScoresBytes(const Scores& scores, const ForwardProblem& problem, const Lengths& lengths);
  NamedBytes slopes, sinks, attn_mask;
};

}  // namespace flashmoe
