// SPDX-License-Identifier: MIT
// How many times faster, with its interval; and what follows from several of them.
#pragma once

#include <optional>
#include <span>

#include "measure/interval.h"
#include "measure/sample.h"

namespace dent {

// baseline time / candidate time: above 1 the candidate is faster. `interval` is on the same scale.
using Ratio = Estimate;

// The median of the pairs' ratios. Nothing when there are too few pairs for an interval at this alpha.
std::optional<Ratio> paired_ratio(std::span<const Pair> pairs, double alpha);

// Both of the following combine intervals of independent estimates by the distances from their centres (the
// MOVER method): the lower bound of a sum uses what each part may be too high by, the upper what it may be
// too low by. So lopsided intervals stay lopsided, and no distribution is assumed twice.

// Geometric mean over shapes. `ratios` must not be empty.
Ratio geometric_mean(std::span<const Ratio> ratios);

// after / before: how a ratio changed between two sessions. Each was measured against the baseline of its own
// session, so the machine's mood on the day falls out.
Ratio change(const Ratio& before, const Ratio& after);

}  // namespace dent
