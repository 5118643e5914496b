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
// Its interval is the wider of two at each end: that of the median (measure/interval.h), and Student's over
// the medians of consecutive blocks, which sees a machine that changes while it is measured.
std::optional<Ratio> paired_ratio(std::span<const Pair> pairs, double alpha);

// What several starts of the same two programs say together: the mean of the logarithms, with Student's
// interval. 3 starts at least. Where its code and its pages lie makes a process faster or slower for as long
// as it lives, which no number of pairs of one start shows.
Ratio over_starts(std::span<const double> log_ratios, double alpha);

// What no number of samples makes smaller: a clock that could not be confirmed, a processor that was not
// there. As shares: the ratio may be lower by 1 + low, or higher by 1 + high.
struct Doubt {
  double low = 0;
  double high = 0;
  bool operator==(const Doubt&) const = default;
};
Ratio widened(const Ratio& ratio, const Doubt& doubt);  // throws Error where the doubt is no number from 0 up
Ratio narrowed(const Ratio& ratio, const Doubt& doubt);  // what was widened by it, as it was before
Doubt both(const Doubt& a, const Doubt& b);              // one on top of the other

// Both of the following take the ends of the intervals for what they are: bounds. What makes one shape's
// ratio doubtful (a clock, a busy machine, where pages lie) makes the others' doubtful in the same direction,
// so doubts add up linearly and never cancel, and a mean is no narrower than what it is made of.

// Geometric mean over shapes: of the centres, of the lower and of the upper ends. `ratios` must not be empty.
// `weights`: how much each of them counts, from 0 up and not all 0; none: all the same.
Ratio geometric_mean(std::span<const Ratio> ratios, std::span<const double> weights = {});
Doubt mean_doubt(std::span<const Doubt> doubts,
                 std::span<const double> weights = {});  // of such a mean; of nothing, none

// after / before: how a ratio changed between two sessions. Each was measured against the baseline of its own
// session, so the machine's mood on the day falls out.
Ratio change(const Ratio& before, const Ratio& after);

}  // namespace dent
