// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "dispatch/backward.h"

namespace flashmoe::dispatch {

// The plan in a few lines for a person.
std::string explain(const BackwardPlan& plan, const ForwardProblem& problem, const device::Spec& spec);

}  // namespace flashmoe::dispatch
