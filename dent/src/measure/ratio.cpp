// SPDX-License-Identifier: MIT
#include "measure/ratio.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "measure/blocks.h"

namespace dent {
namespace {

constexpr std::size_t kFewestStarts = 3;

void check(const Ratio& ratio) {
  if (!(ratio.interval.low > 0) || !(ratio.centre >= ratio.interval.low) ||
      !(ratio.centre <= ratio.interval.high)) {
    throw Error(ErrorCode::invalid, "a ratio must be positive and lie in its own interval");
  }
}

// Normalised weights of `count` values; equal ones if `weights` is empty.
std::vector<double> shares(std::size_t count, std::span<const double> weights) {
  if (weights.empty()) return std::vector<double>(count, 1 / static_cast<double>(count));
  double sum = 0;
  for (const double weight : weights) sum += weight >= 0 ? weight : std::nan("");
  if (weights.size() != count || !(sum > 0) || !std::isfinite(sum))
    throw Error(ErrorCode::internal, "a mean needs one weight per value, each at least 0 and not all 0");
  std::vector<double> result(weights.begin(), weights.end());
  for (double& share : result) share /= sum;
  return result;
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

Ratio over_starts(std::span<const double> log_ratios, double alpha) {
  if (log_ratios.size() < kFewestStarts)
    throw Error(ErrorCode::internal,
                "an interval over starts needs 3 of them; got " + std::to_string(log_ratios.size()));
  const Estimate mean = mean_estimate(log_ratios, alpha);
  return {std::exp(mean.centre), {std::exp(mean.interval.low), std::exp(mean.interval.high)}};
}

Ratio widened(const Ratio& ratio, const Doubt& doubt) {
  for (const double share : {doubt.low, doubt.high}) {
    if (!(share >= 0) || !std::isfinite(share))
      throw Error(ErrorCode::invalid,
                  "a doubt is " + std::to_string(share) + "; it must be a finite number of at least 0");
  }
  return {ratio.centre, {ratio.interval.low / (1 + doubt.low), ratio.interval.high * (1 + doubt.high)}};
}

Ratio narrowed(const Ratio& ratio, const Doubt& doubt) {
  return {ratio.centre,
          {std::min(ratio.centre, ratio.interval.low * (1 + doubt.low)),
           std::max(ratio.centre, ratio.interval.high / (1 + doubt.high))}};
}

Doubt both(const Doubt& a, const Doubt& b) {
  return {(1 + a.low) * (1 + b.low) - 1, (1 + a.high) * (1 + b.high) - 1};
}

Ratio geometric_mean(std::span<const Ratio> ratios, std::span<const double> weights) {
  if (ratios.empty()) throw Error(ErrorCode::internal, "a geometric mean needs at least one ratio; got none");
  const auto share = shares(ratios.size(), weights);
  double centre = 0, low = 0, high = 0;
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    check(ratios[i]);
    centre += share[i] * std::log(ratios[i].centre);
    low += share[i] * std::log(ratios[i].interval.low);
    high += share[i] * std::log(ratios[i].interval.high);
  }
  return {std::exp(centre), {std::exp(low), std::exp(high)}};
}

Doubt mean_doubt(std::span<const Doubt> doubts, std::span<const double> weights) {
  if (doubts.empty()) return {};
  const auto share = shares(doubts.size(), weights);
  double low = 0, high = 0;
  for (std::size_t i = 0; i < doubts.size(); ++i) {
    low += share[i] * std::log1p(doubts[i].low);
    high += share[i] * std::log1p(doubts[i].high);
  }
  return {std::expm1(low), std::expm1(high)};
}

Ratio change(const Ratio& before, const Ratio& after) {
  check(before);
  check(after);
  return {after.centre / before.centre,
          {after.interval.low / before.interval.high, after.interval.high / before.interval.low}};
}

}  // namespace dent
