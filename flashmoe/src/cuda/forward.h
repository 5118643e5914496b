// SPDX-License-Identifier: MIT
// The CUDA backend as the API sees it. Arguments have been checked. In a build without CUDA each of these
// throws.
#pragma once

#include <string>

#include "dispatch/plan.h"
#include "flashmoe/attention.h"
#include "problem/forward_problem.h"

namespace flashmoe::cuda {

std::size_t forward_workspace_bytes(const ForwardProblem& problem);
// What to do for these very arguments, pointers included, on the current device.
dispatch::ForwardPlan plan_forward(const ForwardProblem& problem, const ForwardArgs& args);
// Launches it. The workspace is as large as the plan says.
void forward(const dispatch::ForwardPlan& plan, const ForwardProblem& problem, const ForwardArgs& args,
             Workspace workspace);
std::string explain_forward(const ForwardProblem& problem, const ForwardArgs& args);
bool in_this_build();

}  // namespace flashmoe::cuda
