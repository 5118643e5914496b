// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "gates/result.h"
#include "operators/problem.h"
#include "predict/peaks.h"

namespace dent {

// Turns a result of the performance gate that is physically impossible into a cheat: more operations than the
// GPU's units can do or, with flushed caches, inputs read faster than memory can deliver. `peaks` must be
// upper bounds.
void refuse_the_impossible(GateResult& result, const Problem& problem, const Peaks& peaks, bool flushed,
                           const std::string& step);

}  // namespace dent
