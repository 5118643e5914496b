// SPDX-License-Identifier: MIT
// Speed ratios with intervals, and operations on several of them.
#pragma once

#include <optional>
#include <span>

#include "measure/interval.h"
#include "measure/sample.h"

namespace dent {

// baseline time / candidate time: above 1 the candidate is faster. `interval` is on the same scale.
using Ratio = Estimate;

// The median of the pairs' ratios; nothing if there are too few pairs for an interval at this alpha. Each end
// of the interval is the wider of two: that of the median (measure/interval.h), and Student's over the
// medians of consecutive blocks (measure/blocks.h), which accounts for a machine that changes during the
// measurement.
std::optional<Ratio> paired_ratio(std::span<const Pair> pairs, double alpha);

// Combines several starts of the same two programs (at least 3): the mean of the logarithms, with Student's
// interval. Needed because the placement of code and pages makes a process faster or slower for its whole
// life, which no number of pairs from one start shows.
Ratio over_starts(std::span<const double> log_ratios, double alpha);

// Uncertainty that more samples would not reduce, such as a clock that could not be confirmed or a processor
// that was not available. As shares: the ratio may be lower by a factor 1 + low, or higher by 1 + high.
struct Doubt {
  double low = 0;
  double high = 0;
  bool operator==(const Doubt&) const = default;
};
Ratio widened(const Ratio& ratio, const Doubt& doubt);   // throws Error if a share is negative or infinite
Ratio narrowed(const Ratio& ratio, const Doubt& doubt);  // undoes widened() with the same doubt
Doubt both(const Doubt& a, const Doubt& b);              // product of the two

// The next two functions treat interval ends as bounds. A cause of doubt (a clock, a busy machine, page
// placement) usually shifts the ratios of all shapes in the same direction, so doubts are added without
// cancelling and a mean is no narrower than its parts.

// Geometric mean over shapes of the centres, of the lower ends and of the upper ends. `ratios` must not be
// empty. `weights` are at least 0 and not all 0; an empty list weighs all shapes equally.
Ratio geometric_mean(std::span<const Ratio> ratios, std::span<const double> weights = {});
Doubt mean_doubt(std::span<const Doubt> doubts,
                 std::span<const double> weights = {});  // doubt of geometric_mean(); zero for an empty list

// after / before: how a ratio changed between two sessions. Each session compares with its own baseline, so
// differences of the machine between the two days cancel.
Ratio change(const Ratio& before, const Ratio& after);

}  // namespace dent
