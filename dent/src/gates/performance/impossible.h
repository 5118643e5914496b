// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "gates/result.h"
#include "operators/problem.h"
#include "predict/peaks.h"

namespace dent {

// A result of the performance gate that no kernel can have on this GPU becomes a cheat: more operations than
// its units do, or, where caches are flushed, inputs read faster than memory delivers. `peaks` must be upper
// bounds.
void refuse_the_impossible(GateResult& result, const Problem& problem, const Peaks& peaks, bool flushed,
                           const std::string& step);

}  // namespace dent
