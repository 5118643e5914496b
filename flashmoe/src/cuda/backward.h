// SPDX-License-Identifier: MIT
// The backward pass of the CUDA backend as the API sees it. Arguments have been checked. In a build without
// CUDA each of these throws.
#pragma once

#include <string>

#include "dispatch/backward.h"
#include "flashmoe/attention.h"
#include "problem/forward_problem.h"

namespace flashmoe::cuda {

// Enough whatever the data pointers turn out to be aligned to.
std::size_t backward_workspace_bytes(const ForwardProblem& problem, bool deterministic);
// What to do for these very arguments, pointers included, on the current device.
dispatch::BackwardPlan plan_backward(const ForwardProblem& problem, const BackwardArgs& args);
// Launches it. The workspace is as large as the plan says.
void backward(const dispatch::BackwardPlan& plan, const ForwardProblem& problem, const BackwardArgs& args,
              Workspace workspace);
std::string explain_backward(const ForwardProblem& problem, const BackwardArgs& args);

// args.dsinks alone, where they are wanted: for problems without keys.
void differentiate_sinks(const ForwardProblem& problem, const BackwardArgs& args);

// In stream order; by as many launches as a dense tensor has pieces.
void fill_zero(const Tensor& t, void* stream);

}  // namespace flashmoe::cuda
