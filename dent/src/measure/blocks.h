// SPDX-License-Identifier: MIT
// Confidence interval from consecutive blocks of a series, which accounts for drift and for busy phases.
//
// The series is cut into a few consecutive blocks. If its values were independent, the blocks' medians would
// scatter only as much as their length allows. On a machine that drifts, or is busy for a while, they scatter
// more, and Student's interval over them widens accordingly. Student's t is used because blocks are few.
#pragma once

#include <optional>
#include <span>

#include "measure/interval.h"

namespace dent {

// The mean of at least 2 values, and Student's interval for it.
Estimate mean_estimate(std::span<const double> values, double alpha);

inline constexpr int kBlocks = 8;
inline constexpr int kLeastInBlock = 4;

// Returns nothing if the series is too short for kBlocks blocks of kLeastInBlock values.
std::optional<Interval> block_interval(std::span<const double> values, double alpha);

}  // namespace dent
