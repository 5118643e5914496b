// SPDX-License-Identifier: MIT
// What a plan will do on a GPU: its launch and its work, counted, and how near our kernels come to the
// ceilings.
#pragma once

#include <vector>

#include "device/changes.h"
#include "device/predict.h"
#include "dispatch/plan.h"

namespace flashmoe::dispatch {

// Whether inputs are in the L2 cache when the kernel begins, as far as they fit.
enum class Cache { cold, warm };

struct Forecast {
  device::Launch launch;
  device::Work work;
  device::Manner manner;
  device::Prediction prediction;
};

Forecast predict_forward(const ForwardPlan& plan, const ForwardProblem& problem, const device::Spec& spec,
                         Cache cache = Cache::cold);

// The same kernel if its CTAs shared the keys of each tile `splits` times more, with a kernel that merges:
// what a split would bring, whether or not the kernel can do it.
Forecast predict_with_splits(const ForwardPlan& plan, const ForwardProblem& problem, const device::Spec& spec,
                             int splits, Cache cache = Cache::cold);

// What would change it most, best first: keys shared by more CTAs, and our other kernels.
std::vector<device::Change> forward_changes(const ForwardPlan& plan, const ForwardProblem& problem,
                                            const device::Spec& spec, Cache cache = Cache::cold);

// Registers per thread that ptxas 13.0 gives the plan's kernel, at most, on sm_80, sm_89 and sm_90a
// (scripts/kernel-resources).
int registers_of(const ForwardPlan& plan, const ForwardProblem& problem);

}  // namespace flashmoe::dispatch
