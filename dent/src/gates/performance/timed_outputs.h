// SPDX-License-Identifier: MIT
// Whether calls that were timed gave what they should have given.
#pragma once

#include <optional>

#include "gates/context.h"
#include "gates/performance/timed_side.h"
#include "gates/result.h"

namespace dent {

inline constexpr int kFewestChecked = 3;

// As many of the kept calls as fit into half a time box, and kFewestChecked at least. Nothing when all is
// well.
std::optional<GateResult> check_timed_outputs(GateContext& at, const TimedSide& side, double seconds);

}  // namespace dent
