// SPDX-License-Identifier: MIT
#include "gates/performance/summary.h"

#include <fmt/format.h>

#include <algorithm>

namespace dent {
namespace {

GateResult ended(const record::Summary& summary) {
  if (summary.too_busy) {
    return failed(
        Cause::busy_machine, summary.reason,
        std::string("wait for the other programs to end (top lists them), then measure again") +
            (summary.ratio ? "" : "; if a call takes seconds, raise performance.seconds in dent.toml"));
  }
  switch (summary.verdict) {
    case SpeedVerdict::faster:
    case SpeedVerdict::same:
      return passed(summary.reason);
    case SpeedVerdict::slower:
      return failed(Cause::slower, summary.reason, "run dent profile, then change one thing");
    case SpeedVerdict::ambiguous:
      break;
  }
  return failed(Cause::ambiguous, summary.reason,
                summary.ratio ? "close other programs, or raise performance.seconds in dent.toml"
                              : "raise performance.seconds in dent.toml");
}

}  // namespace

GateResult summarize(const std::vector<record::Comparison>& comparisons, const PerformanceRules& rules) {
  const int shapes = static_cast<int>(comparisons.size());
  std::vector<ShapeSpeed> speeds;
  const record::Comparison* busiest = nullptr;
  for (const record::Comparison& comparison : comparisons) {
    speeds.push_back(record::speed_of(comparison));
    if (!comparison.busy || !comparison.disturbance) continue;
    if (busiest == nullptr || comparison.disturbance->waited > busiest->disturbance->waited)
      busiest = &comparison;
  }
  const auto differs = [&](const ShapeSpeed& shape) { return shape.weight != speeds.front().weight; };
  const WholeSpeed whole = over_shapes(speeds, rules.same_within);
  record::Summary summary{.verdict = whole.verdict,
                          .ratio = whole.mean,
                          .shapes = shapes,
                          .reason = "too few samples for an interval",
                          .busy = whole.busy,
                          .too_busy = whole.too_busy,
                          .weighted = std::any_of(speeds.begin(), speeds.end(), differs)};
  if (whole.mean) {
    summary.reason =
        fmt::format("{:.3f}x ({:.3f} to {:.3f}), {}geometric mean over {} {}", whole.mean->centre,
                    whole.mean->interval.low, whole.mean->interval.high, summary.weighted ? "weighted " : "",
                    shapes, shapes == 1 ? "shape" : "shapes");
  }
  if (busiest != nullptr) {
    summary.reason +=
        fmt::format("; {}{}", whole.too_busy ? "" : "on a ", busy_in_words(*busiest->disturbance));
  }
  GateResult result = ended(summary);
  result.records.emplace_back(std::move(summary));
  return result;
}

}  // namespace dent
