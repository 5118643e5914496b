// SPDX-License-Identifier: MIT
// The oracle: attention in float64, as plain as possible, and the largest error that a backend may have.
#pragma once

#include <vector>

#include "flashmoe/attention.h"
#include "problem/forward_problem.h"

namespace flashmoe::reference {

// All arrays are dense: [B, Hq, Sq, D] for outputs, [B, Hq, Sq] for rows.
struct ForwardResult {
  std::vector<double> out;
  std::vector<double> lse;
  // What an error bound needs to know about the data: w_j are the softmax weights of a row, e_j is the
  // largest error of logit j in fp32 arithmetic (bound.h).
  std::vector<double> weighted_abs_v;  // per output: sum_j w_j |v_j|, which bounds cancellation in P V
  std::vector<double> weight_error;    // per output: largest effect of the e_j, sum_j w_j e_j |v_j - out|
  std::vector<double> logit_error;     // per row: largest effect of the e_j on the LSE, sum_j w_j e_j
  std::vector<int64_t> keys;           // per row: Skv, or the keys of its sequence; one more with a sink
};

// Computes attention for `args` as documented at attention_forward in the public header; ignores args.out,
// args.lse and args.execution. Products of logits that overflow in fp32 do not overflow here. With variable
// lengths, each sequence is computed as its own problem. `first` is the index of the first batch entry if the
// problem is one such sequence, since dropout depends on it.
ForwardResult attention_forward(const ForwardProblem& problem, const ForwardArgs& args, int64_t first = 0);

// Largest allowed |error| of output element `i`, and of the LSE of row `r`. Finite if the expected value is.
double output_bound(const ForwardProblem& problem, const ForwardResult& expected, std::size_t i);
double lse_bound(const ForwardResult& expected, std::size_t r);

}  // namespace flashmoe::reference
