// SPDX-License-Identifier: MIT
#pragma once

#include "dispatch/plan.h"
#include "flashmoe/attention.h"
#include "kernels/forward_params.h"
#include "kernels/prepare_lengths/params.h"
#include "primitives/target.h"

namespace flashmoe::dispatch {

Addressing addressing_of(const ForwardArgs& args);

inline namespace FLASHMOE_TARGET {

// What the plan's kernel is told.
kernels::ForwardParams params_for(const ForwardPlan& plan, const ForwardProblem& problem,
                                  const ForwardArgs& args, Workspace workspace);

// What prepare_lengths is told, where the problem has lengths.
kernels::prepare_lengths::Params length_params_for(const ForwardPlan& plan, const ForwardProblem& problem,
                                                   const ForwardArgs& args, Workspace workspace);

// Launches what the plan says, on the caller's stream. `args` have been checked, `workspace` is as large as
// planned.
void run_forward(const ForwardPlan& plan, const ForwardProblem& problem, const ForwardArgs& args,
                 Workspace workspace);

}  // namespace FLASHMOE_TARGET
}  // namespace flashmoe::dispatch
