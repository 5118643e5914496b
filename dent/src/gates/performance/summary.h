// SPDX-License-Identifier: MIT
// Combines all shapes: geometric mean, verdict, and what to do next.
#pragma once

#include <vector>

#include "gates/result.h"
#include "project/project.h"

namespace dent {

GateResult summarize(const std::vector<record::Comparison>& comparisons, const PerformanceRules& rules);

}  // namespace dent
