// SPDX-License-Identifier: MIT
// When and how hopper_forward computes a problem.
#pragma once

#include "dispatch/plan.h"

namespace flashmoe::dispatch {

// Why it can't compute anything here, or nothing with these pointers and strides; null when it can.
const char* too_much_for_hopper(const ForwardProblem& p, Addressing addressing, const device::Spec& spec);

// Query heads that share a tile: all of a group where that leaves fewer rows of tiles empty, else 1.
int hopper_pack(const ForwardProblem& p);

// The row of its table: one that takes whole tiles, or one whose blocks share a tile's keys.
int hopper_tuning(const ForwardProblem& p, int pack, const device::Spec& spec);
int hopper_split_tuning(const ForwardProblem& p);

// How many blocks should share the keys of a tile.
int hopper_splits(const ForwardProblem& p, int pack, const device::Spec& spec);

// In which order its blocks walk over the tiles.
void order_hopper_tiles(ForwardPlan& plan, const ForwardProblem& p, const device::Spec& spec);

}  // namespace flashmoe::dispatch
