// SPDX-License-Identifier: MIT
// Gradients on the CPU as the API sees them. Arguments have been checked.
#pragma once

#include <string>

#include "cpu/backward_plan.h"
#include "flashmoe/attention.h"
#include "problem/forward_problem.h"

namespace flashmoe::cpu {

// `dattn_mask`: what heads may have to take turns for; its data is null where it is not wanted.
BackwardPlan plan_backward(const ForwardProblem& problem, const Execution& execution,
                           const PairGradient& dattn_mask = {});
// Computes them. The workspace is as large as the plan says. The same arguments with the same `threads` give
// the same bits, whether `deterministic` is asked for or not.
void backward(const BackwardPlan& plan, const ForwardProblem& problem, const BackwardArgs& args,
              Workspace workspace);
std::string explain_backward(const ForwardProblem& problem, const Execution& execution,
                             const PairGradient& dattn_mask = {});

}  // namespace flashmoe::cpu
