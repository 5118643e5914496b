// SPDX-License-Identifier: MIT
// The oracle: attention in float64, in the plainest code there is, and how far from it a backend may be.
#pragma once

#include <vector>

#include "flashmoe/attention.h"
#include "problem/forward_problem.h"

namespace flashmoe::reference {

// All arrays are dense: [B, Hq, Sq, D] for outputs, [B, Hq, Sq] for rows.
struct ForwardResult {
  std::vector<double> out;
  std::vector<double> lse;
  // What an error bound needs to know about the data. w_j are the softmax weights of a row, e_j the largest
  // error that fp32 arithmetic may leave in logit j (see bound.h):
  std::vector<double> weighted_abs_v;  // per output: sum_j w_j |v_j|, how much could cancel in P V
  std::vector<double> weight_error;    // per output: how far the e_j can move it, sum_j w_j e_j |v_j - out|
  std::vector<double> logit_error;     // per row: how far the e_j can move the LSE, sum_j w_j e_j
  std::vector<int64_t> keys;           // per row: Skv, or the keys of its sequence; one more with a sink
};

// `args` as for attention_forward; args.out, args.lse and args.execution are not used. Sums are exact enough
// for any input whose logits fit in fp32: a product that overflows there does not overflow here. With
// lengths, each sequence is a problem of its own. `first`: the number of the first batch entry, where that is
// a sequence.
ForwardResult attention_forward(const ForwardProblem& problem, const ForwardArgs& args, int64_t first = 0);

// Largest allowed |error| of output element `i` and of the LSE of row `r`; finite wherever the expected value
// is.
double output_bound(const ForwardProblem& problem, const ForwardResult& expected, std::size_t i);
double lse_bound(const ForwardResult& expected, std::size_t r);

}  // namespace flashmoe::reference
