// SPDX-License-Identifier: MIT
// How decode_forward shares the keys of a K/V head between blocks.
#pragma once

#include "dispatch/plan.h"

namespace flashmoe::dispatch {

struct DecodeCut {
  int tuning = -1, splits = 1;
};

// The first configuration with this cluster that takes the problem, and all of it in one wave where
// `one_wave`; -1 when there is none.
int find_decode_tuning(const ForwardProblem& p, const device::Spec& spec, int cluster, int splits,
                       bool one_wave);

// The largest cluster that runs in one wave, but no more blocks than there are kFewKeys keys; then as many
// splits as pay for the second kernel.
DecodeCut cut_for_decode(const ForwardProblem& p, const device::Spec& spec);

}  // namespace flashmoe::dispatch
