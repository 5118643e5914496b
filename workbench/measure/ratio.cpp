// SPDX-License-Identifier: MIT
#include "measure/ratio.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "measure/blocks.h"

namespace dent {
namespace {

void check(const Ratio& ratio) {
  if (!(ratio.interval.low > 0) || !(ratio.centre >= ratio.interval.low) ||
      !(ratio.centre <= ratio.interval.high)) {
    throw Error(ErrorCode::invalid, "a ratio must be positive and lie in its own interval");
  }
}

}  // namespace

std::optional<Ratio> paired_ratio(std::span<const Pair> pairs, double alpha) {
  const auto logs = log_ratios(pairs);
  auto estimate = median_estimate(logs, alpha);
  if (!estimate) return std::nullopt;
  if (const auto over_blocks = block_interval(logs, alpha)) {
    estimate->interval.low = std::min(estimate->interval.low, over_blocks->low);
    estimate->interval.high = std::max(estimate->interval.high, over_blocks->high);
  }
  return Ratio{std::exp(estimate->centre),
               {std::exp(estimate->interval.low), std::exp(estimate->interval.high)}};
}

Ratio widened(const Ratio& ratio, const Doubt& doubt) {
  return {ratio.centre, {ratio.interval.low / (1 + doubt.low), ratio.interval.high * (1 + doubt.high)}};
}

Doubt both(const Doubt& a, const Doubt& b) {
  return {(1 + a.low) * (1 + b.low) - 1, (1 + a.high) * (1 + b.high) - 1};
}

Ratio geometric_mean(std::span<const Ratio> ratios) {
  if (ratios.empty()) throw Error(ErrorCode::internal, "the geometric mean of no ratios was asked for");
  double centre = 0, low = 0, high = 0;
  for (const Ratio& ratio : ratios) {
    check(ratio);
    centre += std::log(ratio.centre);
    low += std::log(ratio.interval.low);
    high += std::log(ratio.interval.high);
  }
  const double n = static_cast<double>(ratios.size());
  return {std::exp(centre / n), {std::exp(low / n), std::exp(high / n)}};
}

Doubt mean_doubt(std::span<const Doubt> doubts) {
  if (doubts.empty()) return {};
  double low = 0, high = 0;
  for (const Doubt& doubt : doubts) {
    low += std::log1p(doubt.low);
    high += std::log1p(doubt.high);
  }
  const double n = static_cast<double>(doubts.size());
  return {std::expm1(low / n), std::expm1(high / n)};
}

Ratio change(const Ratio& before, const Ratio& after) {
  check(before);
  check(after);
  return {after.centre / before.centre,
          {after.interval.low / before.interval.high, after.interval.high / before.interval.low}};
}

}  // namespace dent
