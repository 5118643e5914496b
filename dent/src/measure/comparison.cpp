// SPDX-License-Identifier: MIT
#include "measure/comparison.h"

#include <fmt/format.h>

#include <utility>

namespace dent {
namespace {

constexpr std::size_t kEnoughToSeePhases = 32;

std::string why(const Comparison& c, const ComparisonRule& rule) {
  if (!c.ratio) {
    const auto independent = static_cast<std::size_t>(static_cast<double>(c.pairs) / c.correlation_time);
    if (c.pairs == independent || c.pairs < kEnoughToSeePhases) {
      return fmt::format("{} pairs are too few for an interval at alpha = {:.4g}", c.pairs, rule.alpha);
    }
    return fmt::format(
        "{} pairs are too few for an interval: the machine's speed goes in phases, so they count as only {}",
        c.pairs, independent);
  }
  const Interval& in = c.ratio->interval;
  const auto interval = fmt::format("interval {:.4f} .. {:.4f}", in.low, in.high);
  switch (c.verdict) {
    case SpeedVerdict::same:
      return fmt::format("{} lies within {:.2g} % of 1", interval, 100 * rule.same_within);
    case SpeedVerdict::faster:
      return fmt::format("{} lies above 1", interval);
    case SpeedVerdict::slower:
      return fmt::format("{} lies below 1", interval);
    case SpeedVerdict::ambiguous:
      break;
  }
  if (in.contains(1))
    return fmt::format("{} includes 1 and is wider than {:.2g} %", interval, 100 * rule.same_within);
  return fmt::format("{} excludes 1, but its centre {:.4f} is within {:.2g} % of 1", interval,
                     c.ratio->centre, 100 * rule.same_within);
}

}  // namespace

Comparison compare(std::span<const Pair> pairs, const ComparisonRule& rule) {
  log_ratios(pairs);  // before clocks are looked at: a sample that can't be a time is an error in any pair
  Sifted sifted = set_aside_slow_clocks(pairs, rule.clock);
  Comparison result;
  result.pairs = sifted.kept.size();
  result.aside = std::move(sifted.aside);
  result.clock_mhz = sifted.clock_mhz;
  result.baseline_ns = median_ns(sifted.kept, Side::baseline);
  result.candidate_ns = median_ns(sifted.kept, Side::candidate);
  result.correlation_time = correlation_time(log_ratios(sifted.kept));
  result.ratio = paired_ratio(sifted.kept, rule.alpha);
  if (static_cast<double>(result.aside.size()) > rule.most_aside * static_cast<double>(pairs.size())) {
    result.reason = fmt::format(
        "the clock was below {:.0f} MHz in {} of {} pairs, too many for a verdict from the rest",
        result.clock_mhz.value_or(0) * rule.clock.lowest_share, result.aside.size(), pairs.size());
    return result;
  }
  result.verdict = judge(result.ratio, rule.same_within);
  result.reason = why(result, rule);
  return result;
}

}  // namespace dent
