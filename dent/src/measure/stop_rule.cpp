// SPDX-License-Identifier: MIT
#include "measure/stop_rule.h"

#include <fmt/format.h>

#include "base/error.h"

namespace dent {

std::vector<int> looks(const StopRule& rule) {
  if (rule.min_pairs < 1 || rule.max_pairs < rule.min_pairs || !(rule.precision > 0)) {
    throw Error(
        ErrorCode::invalid,
        fmt::format(
            "stop rule: min_pairs is {}, max_pairs is {}, precision is {}; it must be 1 <= min_pairs <= "
            "max_pairs and precision > 0",
            rule.min_pairs, rule.max_pairs, rule.precision));
  }
  std::vector<int> at;
  for (long pairs = rule.min_pairs; pairs < rule.max_pairs; pairs *= 2) at.push_back(static_cast<int>(pairs));
  at.push_back(rule.max_pairs);
  return at;
}

ComparisonRule at_one_look(const ComparisonRule& rule, const StopRule& stop) {
  ComparisonRule one = rule;
  one.alpha = rule.alpha / static_cast<double>(looks(stop).size());
  return one;
}

bool decided(const Comparison& comparison, const StopRule& rule, double same_within) {
  if (comparison.verdict == SpeedVerdict::ambiguous || !comparison.ratio) return false;
  const auto& [low, high] = comparison.ratio->interval;
  const bool may_be_same = low <= 1 + same_within && high * (1 + same_within) >= 1;
  if (comparison.verdict != SpeedVerdict::same && may_be_same) return false;
  const double step = 1 + rule.precision;
  return high <= comparison.ratio->centre * step && low >= comparison.ratio->centre / step;
}

}  // namespace dent
