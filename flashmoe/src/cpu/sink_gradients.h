// SPDX-License-Identifier: MIT
// Gradients of sinks. Those of q, k and v need nothing new: the LSE, which they begin from, includes the
// sink.
#pragma once

#include "flashmoe/attention.h"
#include "problem/forward_problem.h"

namespace flashmoe::cpu {

// args.dsinks, where they are wanted: each head's sum over its rows, always in the same order.
void differentiate_sinks(const ForwardProblem& problem, const BackwardArgs& args);

}  // namespace flashmoe::cpu
