// SPDX-License-Identifier: MIT
#include "measure/ratio.h"

#include <cmath>

#include "base/error.h"

namespace dent {
namespace {

Estimate logarithm(const Ratio& ratio) {
  if (!(ratio.interval.low > 0) || !(ratio.centre >= ratio.interval.low) ||
      !(ratio.centre <= ratio.interval.high)) {
    throw Error(ErrorCode::invalid, "a ratio must be positive and lie in its own interval");
  }
  return {std::log(ratio.centre), {std::log(ratio.interval.low), std::log(ratio.interval.high)}};
}

Ratio exponential(const Estimate& log) {
  return {std::exp(log.centre), {std::exp(log.interval.low), std::exp(log.interval.high)}};
}

}  // namespace

std::optional<Ratio> paired_ratio(std::span<const Pair> pairs, double alpha) {
  const auto estimate = median_estimate(log_ratios(pairs), alpha);
  if (!estimate) return std::nullopt;
  return exponential(*estimate);
}

Ratio geometric_mean(std::span<const Ratio> ratios) {
  if (ratios.empty()) throw Error(ErrorCode::internal, "the geometric mean of no ratios was asked for");
  double sum = 0, low_squares = 0, high_squares = 0;
  for (const Ratio& ratio : ratios) {
    const Estimate log = logarithm(ratio);
    sum += log.centre;
    low_squares += std::pow(log.centre - log.interval.low, 2);
    high_squares += std::pow(log.interval.high - log.centre, 2);
  }
  const double n = static_cast<double>(ratios.size());
  return exponential({sum / n, {(sum - std::sqrt(low_squares)) / n, (sum + std::sqrt(high_squares)) / n}});
}

Ratio change(const Ratio& before, const Ratio& after) {
  const Estimate b = logarithm(before), a = logarithm(after);
  const double centre = a.centre - b.centre;
  return exponential({centre,
                      {centre - std::hypot(a.centre - a.interval.low, b.interval.high - b.centre),
                       centre + std::hypot(a.interval.high - a.centre, b.centre - b.interval.low)}});
}

}  // namespace dent
