// SPDX-License-Identifier: MIT
// Checks the outputs of timed calls.
#pragma once

#include <optional>

#include "gates/context.h"
#include "gates/performance/timed_side.h"
#include "gates/result.h"

namespace dent {

inline constexpr int kFewestChecked = 3;

// Checks as many of the kept calls as fit into half a time box, and at least kFewestChecked. Returns nothing
// if all are right.
std::optional<GateResult> check_timed_outputs(GateContext& at, const TimedSide& side, double seconds);

}  // namespace dent
