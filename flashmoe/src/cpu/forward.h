// SPDX-License-Identifier: MIT
// The CPU backend as the API sees it. Arguments have been checked.
#pragma once

#include <string>

#include "cpu/plan.h"
#include "flashmoe/attention.h"
#include "problem/forward_problem.h"

namespace flashmoe::cpu {

Plan plan_forward(const ForwardProblem& problem, const Execution& execution);
// Computes it. The workspace is as large as the plan says.
void forward(const Plan& plan, const ForwardProblem& problem, const ForwardArgs& args, Workspace workspace);
std::string explain_forward(const ForwardProblem& problem, const Execution& execution);
std::string instruction_set();  // what run-time dispatch chose here, for example "NEON_BF16"

}  // namespace flashmoe::cpu
