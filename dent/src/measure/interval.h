// SPDX-License-Identifier: MIT
// The median of a series of timings and the interval that it lies in.
//
// Timings are skewed (an interrupt only ever adds), heavy-tailed and correlated in time (a noisy neighbour
// stays a while), so an interval of mean +- 1.96 sigma promises more than it keeps. Here the interval is made
// of order statistics: the number of values below the true median is binomial(n, 1/2) whatever the
// distribution is. For a correlated series the same holds with fewer values: n / tau, where tau is the
// correlation time of the signs about the median (Geyer's initial positive sequence). That costs one sort,
// has no tuning, needs no random numbers, and the tests measure its coverage.
// Its limit: a series not much longer than its own memory hides it (16 values correlated by 0.8 are covered
// to 85 %, 500 to 95 %). measure/blocks.h stands beside it for that.
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

// The middle value; the mean of the two middle ones of an even number. `values` must not be empty.
double median(std::span<const double> values);

// How many neighbours in time say the same thing: 1 for independent values, never less.
double correlation_time(std::span<const double> values);

// The median and an interval that misses the true one at most once in 1 / alpha times. Nothing when the
// values are too few for that: fewer than 6 independent ones at alpha = 0.05.
std::optional<Estimate> median_estimate(std::span<const double> values, double alpha);

}  // namespace dent
