// SPDX-License-Identifier: MIT
// When and how hopper_forward computes a problem.
#pragma once

#include "dispatch/plan.h"

namespace flashmoe::dispatch {

// Why it can't compute anything here, or nothing with these pointers and strides; null when it can.
const char* too_much_for_hopper(Addressing addressing, const device::Spec& spec);

// Query heads that share a tile: all of a group where that leaves fewer rows of tiles empty, else 1.
int hopper_pack(const ForwardProblem& p);

// The row of its table.
int hopper_tuning(const ForwardProblem& p, int pack, const device::Spec& spec);

// In which order its blocks walk over the tiles.
void order_hopper_tiles(ForwardPlan& plan, const ForwardProblem& p, const device::Spec& spec);

// Whether it is faster than ampere_forward, which may share the keys of a tile between blocks.
bool hopper_pays(const ForwardPlan& plan, const ForwardProblem& p, const device::Spec& spec);

}  // namespace flashmoe::dispatch
