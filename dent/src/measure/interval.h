// SPDX-License-Identifier: MIT
// The median of a series of timings, and a confidence interval for it.
//
// Timings are skewed (an interrupt can only add time), heavy-tailed and correlated in time (a noisy neighbour
// stays a while), so an interval of mean +- 1.96 sigma covers less than it promises. Here the interval is
// made of order statistics: the number of values below the true median is binomial(n, 1/2) for every
// distribution. A correlated series counts as n / tau values, where tau is the correlation time of the signs
// about the median (Geyer's initial positive sequence). This costs one sort, has no parameters to tune and
// needs no random numbers; the tests measure its coverage. Limit: a series not much longer than its
// correlation time hides the correlation (16 values correlated by 0.8 are covered to 85 %, 500 to 95 %).
// measure/blocks.h covers that case.
#pragma once

#include <optional>
#include <span>

namespace dent {

struct Interval {
  double low = 0;
  double high = 0;
  bool contains(double value) const { return low <= value && value <= high; }
  bool operator==(const Interval&) const = default;
};

struct Estimate {
  double centre = 0;
  Interval interval;
  bool operator==(const Estimate&) const = default;
};

// The middle value, or the mean of the two middle values. `values` must not be empty.
double median(std::span<const double> values);

// Number of consecutive values that carry the information of one: 1 for independent values, never less.
double correlation_time(std::span<const double> values);

// The median, and an interval that misses the true one with probability at most alpha. Returns nothing if
// there are too few values: fewer than 6 independent ones at alpha = 0.05.
std::optional<Estimate> median_estimate(std::span<const double> values, double alpha);

}  // namespace dent
