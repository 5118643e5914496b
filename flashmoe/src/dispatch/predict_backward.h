// SPDX-License-Identifier: MIT
// What a plan for gradients will do on a GPU, as predict.h does for the forward.
#pragma once

#include "dispatch/backward.h"
#include "dispatch/predict.h"

namespace flashmoe::dispatch {

Forecast predict_backward(const BackwardPlan& plan, const ForwardProblem& problem, const device::Spec& spec,
                          Cache cache = Cache::cold);

}  // namespace flashmoe::dispatch
