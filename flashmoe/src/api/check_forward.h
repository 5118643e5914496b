// SPDX-License-Identifier: MIT
// Argument checks: from what the caller gave to a ForwardProblem that every backend may trust.
#pragma once

#include "flashmoe/attention.h"
#include "problem/forward_problem.h"

namespace flashmoe {

// Checks sizes, strides and types, not pointers: all that a workspace query needs.
ForwardProblem check_shapes(const ForwardArgs& args);

// Checks the pointers too: null, misaligned, or an output that overlaps an input or itself.
ForwardProblem check_forward(const ForwardArgs& args);

// The part of the workspace that is used shares no byte with a tensor.
void check_workspace_apart(const ForwardArgs& args, const ForwardProblem& problem, Workspace used);

}  // namespace flashmoe
