// SPDX-License-Identifier: MIT
// The oracle: attention in float64, in the plainest code there is, and how far from it a backend may be.
#pragma once

#include <vector>

#include "flashmoe/attention.h"
#include "problem/forward_problem.h"

namespace flashmoe::reference {

// All arrays are dense: [B, Hq, Sq, D] or [B, Hq, Sq].
struct ForwardResult {
  std::vector<double> out;
  std::vector<double> lse;
  // What an error bound needs to know about the data:
  std::vector<double> weighted_abs_v;  // sum_j p_j |v_j|, per output element: how much could have cancelled
  std::vector<double> logit_size;      // max_j scale * sum_i |q_i k_ij|, per row: how much a logit could have cancelled
};

// `args` as for attention_forward; args.out, args.lse and args.execution are not used.
ForwardResult attention_forward(const ForwardProblem& problem, const ForwardArgs& args);

// How a backend may compute: the unit roundoffs of its weights P and of what it stores.
struct Precision {
  double weights;  // P as it enters P V: 2^-24 in fp32, 2^-11 in fp16, 2^-8 in bf16
  double output;   // the stored type
  double output_smallest;  // half the spacing of its subnormals

  static Precision of(DType dtype);
};

// Largest allowed |error| of output element `i` and of the LSE of row `r`. Both follow from rounding in fp32
// sums of length D and Skv (errors of a sum of n terms grow as sqrt(n)), of P, and of the stored result.
double output_bound(const ForwardProblem& problem, const ForwardResult& expected, std::size_t i);
double lse_bound(const ForwardProblem& problem, const ForwardResult& expected, std::size_t r);

}  // namespace flashmoe::reference
