// SPDX-License-Identifier: MIT
// What the parts of a series say, one after the other: an interval that sees drift and phases.
//
// A series is cut into a few consecutive blocks. Were its values independent, the blocks' medians would
// scatter as little as their length lets them; a machine that drifts, or is busy for a while, makes them
// scatter more, and Student's interval over them grows with that. It is Student's because blocks are few.
#pragma once

#include <optional>
#include <span>

#include "measure/interval.h"

namespace dent {

// The mean, and Student's interval for it. 2 values at least.
Estimate mean_estimate(std::span<const double> values, double alpha);

inline constexpr int kBlocks = 8;
inline constexpr int kLeastInBlock = 4;

// Nothing for a series that is too short to be cut into kBlocks blocks of kLeastInBlock.
std::optional<Interval> block_interval(std::span<const double> values, double alpha);

}  // namespace dent
