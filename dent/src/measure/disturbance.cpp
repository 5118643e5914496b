// SPDX-License-Identifier: MIT
#include "measure/disturbance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "measure/interval.h"

namespace dent {
namespace {

constexpr double kMostTaken = 0.99;  // upper limit, as a share of a sample's time

double without_what_was_taken(const Sample& sample, const Disturbance& disturbance) {
  const double half = 2 * disturbance.others;
  const double most = kMostTaken * sample.ns;
  if (sample.waited_ns) return sample.ns - std::min(*sample.waited_ns, most);
  return half >= 0 ? sample.ns - std::min(half * sample.ns, most) : sample.ns - most;  // most: NaN
}

}  // namespace

bool is_busy(const Disturbance& disturbance, const QuietRule& rule) {
  return !(disturbance.others <= rule.others * disturbance.processors) ||
         !(disturbance.waited <= rule.waited);
}

Doubt doubt_of(std::span<const Pair> pairs, double alpha, const Disturbance& disturbance) {
  if (pairs.empty()) return {};
  const auto charged_to = [&](Side side) {
    std::vector<Pair> charged(pairs.begin(), pairs.end());
    for (Pair& pair : charged) {
      Sample& sample = side == Side::baseline ? pair.baseline : pair.candidate;
      sample.ns = without_what_was_taken(sample, disturbance);
    }
    return charged;
  };
  const auto centre = [](std::span<const Pair> of) { return std::exp(median(log_ratios(of))); };
  const std::vector<Pair> baseline = charged_to(Side::baseline), candidate = charged_to(Side::candidate);
  Doubt doubt{std::max(0.0, centre(pairs) / centre(baseline) - 1),
              std::max(0.0, centre(candidate) / centre(pairs) - 1)};
  const auto as_it_is = paired_ratio(pairs, alpha), lower = paired_ratio(baseline, alpha),
             higher = paired_ratio(candidate, alpha);
  if (as_it_is && lower) doubt.low = std::max(doubt.low, as_it_is->interval.low / lower->interval.low - 1);
  if (as_it_is && higher)
    doubt.high = std::max(doubt.high, higher->interval.high / as_it_is->interval.high - 1);
  return doubt;
}

std::string busy_in_words(const Disturbance& disturbance) {
  return fmt::format(
      "busy machine: other programs had {:.1f} of {} processors, the kernels waited {:.0f} % of their time",
      disturbance.others, disturbance.processors, 100 * disturbance.waited);
}

}  // namespace dent
