// SPDX-License-Identifier: MIT
// Plans for sequences of different lengths, whose tiles are listed on the GPU (dispatch/sequence_tiles.h).
#pragma once

#include "dispatch/plan.h"

namespace flashmoe::dispatch {

// What hopper_forward and hopper_backward have no form for.
inline constexpr const char* kSpansBesideLengths = "spans, beside sequences of different lengths";

// A plan's grid and workspace. Its tiles are those that there may be: how many there are is known on the GPU
// alone.
void add_tiles_of_lengths(ForwardPlan& plan, const ForwardProblem& p);

ForwardPlan choose_for_lengths(const ForwardProblem& problem, Addressing addressing, const device::Spec& spec,
                               const ForwardChoice& choice);

}  // namespace flashmoe::dispatch
