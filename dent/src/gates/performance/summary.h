// SPDX-License-Identifier: MIT
// Over all shapes: geometric mean, verdict, and what follows.
#pragma once

#include <vector>

#include "gates/result.h"
#include "project/project.h"

namespace dent {

GateResult summarize(const std::vector<record::Comparison>& comparisons, const PerformanceRules& rules);

}  // namespace dent
