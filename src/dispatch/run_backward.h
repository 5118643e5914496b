// SPDX-License-Identifier: MIT
#pragma once

#include "dispatch/backward.h"
#include "flashmoe/attention.h"
#include "kernels/backward_params.h"
#include "primitives/target.h"

namespace flashmoe::dispatch {

Addressing addressing_of(const BackwardArgs& args);

inline namespace FLASHMOE_TARGET {

// What the plan's kernels are told.
kernels::BackwardParams params_for(const BackwardPlan& plan, const ForwardProblem& problem,
                                   const BackwardArgs& args, Workspace workspace);

// Launches what the plan says, on the caller's stream. `args` have been checked, `workspace` is as large as
// planned.
void run_backward(const BackwardPlan& plan, const ForwardProblem& problem, const BackwardArgs& args,
                  Workspace workspace);

}  // namespace FLASHMOE_TARGET
}  // namespace flashmoe::dispatch
