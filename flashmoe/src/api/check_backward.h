// SPDX-License-Identifier: MIT
// Argument checks of the backward pass, as check_forward.h has them for the forward.
#pragma once

#include "flashmoe/attention.h"
#include "problem/forward_problem.h"

namespace flashmoe {

// Checks sizes, strides and types, not pointers.
ForwardProblem check_shapes(const BackwardArgs& args);

// Checks the pointers too: null, misaligned, or a gradient that overlaps anything else or itself.
ForwardProblem check_backward(const BackwardArgs& args);

// The part of the workspace that is used shares no byte with a tensor.
void check_workspace_apart(const BackwardArgs& args, const ForwardProblem& problem, Workspace used);

}  // namespace flashmoe
