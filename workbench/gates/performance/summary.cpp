// SPDX-License-Identifier: MIT
#include "gates/performance/summary.h"

#include <fmt/format.h>

namespace dent {

GateResult summarize(const std::vector<record::Comparison>& comparisons, const PerformanceRules& rules) {
  const int shapes = static_cast<int>(comparisons.size());
  std::vector<Ratio> ratios;
  for (const record::Comparison& comparison : comparisons) {
    if (comparison.ratio) ratios.push_back(*comparison.ratio);
  }
  if (ratios.empty() || ratios.size() < comparisons.size()) {
    GateResult result =
        failed(Cause::ambiguous, "too few samples for an interval", "raise performance.seconds in dent.toml");
    result.records.emplace_back(record::Summary{SpeedVerdict::ambiguous, {}, shapes, result.reason()});
    return result;
  }
  const Ratio mean = geometric_mean(ratios);
  const SpeedVerdict verdict = judge(mean, rules.same_within);
  const std::string reason =
      fmt::format("{:.3f}x ({:.3f} to {:.3f}), geometric mean over {} {}", mean.centre, mean.interval.low,
                  mean.interval.high, shapes, shapes == 1 ? "shape" : "shapes");
  GateResult result = passed(reason);
  if (verdict == SpeedVerdict::slower)
    result = failed(Cause::slower, reason, "profile, then change one thing");
  if (verdict == SpeedVerdict::ambiguous) {
    result =
        failed(Cause::ambiguous, reason, "close other programs, or raise performance.seconds in dent.toml");
  }
  result.records.emplace_back(record::Summary{verdict, mean, shapes, reason});
  return result;
}

}  // namespace dent
