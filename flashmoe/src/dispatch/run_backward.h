// SPDX-License-Identifier: MIT
#pragma once

#include "dispatch/backward.h"
#include "flashmoe/attention.h"
#include "kernels/backward_params.h"
#include "kernels/padded_sequences.h"
#include "kernels/prepare_lengths/params.h"
#include "primitives/target.h"

namespace flashmoe::dispatch {

Addressing addressing_of(const BackwardArgs& args);

inline namespace FLASHMOE_TARGET {

// What the plan's kernels are told.
kernels::BackwardParams params_for(const BackwardPlan& plan, const ForwardProblem& problem,
                                   const BackwardArgs& args, Workspace workspace);

// What prepare_lengths is told, where the problem has lengths.
kernels::prepare_lengths::Params length_params_for(const BackwardPlan& plan, const ForwardProblem& problem,
                                                   const BackwardArgs& args, Workspace workspace);

// And tensor-core kernels, with those before and behind them.
kernels::PaddedSequences padded_sequences(const BackwardPlan& plan, const ForwardProblem& problem,
                                          const kernels::prepare_lengths::Params& lengths);

// Launches what the plan says, on the caller's stream, and what finds args.dsinks. `args` have been checked,
// `workspace` is as large as planned.
void run_backward(const BackwardPlan& plan, const ForwardProblem& problem, const BackwardArgs& args,
                  Workspace workspace);

// args.dsinks alone, where they are wanted: for problems without keys.
void differentiate_sinks(const ForwardProblem& problem, const BackwardArgs& args);

}  // namespace FLASHMOE_TARGET
}  // namespace flashmoe::dispatch
