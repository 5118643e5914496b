// SPDX-License-Identifier: MIT
#include "gates/performance/summary.h"

#include <fmt/format.h>

#include <algorithm>

namespace dent {
namespace {

GateResult ended(const record::Summary& summary) {
  switch (summary.verdict) {
    case SpeedVerdict::faster:
    case SpeedVerdict::same:
      return passed(summary.reason);
    case SpeedVerdict::slower:
      return failed(Cause::slower, summary.reason, "profile, then change one thing");
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
  std::vector<Ratio> ratios;
  std::vector<double> weights;
  std::vector<SpeedVerdict> verdicts;
  const record::Comparison* busiest = nullptr;
  for (const record::Comparison& comparison : comparisons) {
    if (comparison.ratio) ratios.push_back(*comparison.ratio);
    weights.push_back(comparison.weight);
    verdicts.push_back(comparison.verdict);
    if (!comparison.busy || !comparison.disturbance) continue;
    if (busiest == nullptr || comparison.disturbance->waited > busiest->disturbance->waited)
      busiest = &comparison;
  }
  const auto differs = [&](double weight) { return weight != weights.front(); };
  record::Summary summary{.shapes = shapes,
                          .reason = "too few samples for an interval",
                          .busy = busiest != nullptr,
                          .weighted = std::any_of(weights.begin(), weights.end(), differs)};
  if (!ratios.empty() && ratios.size() == comparisons.size()) {
    const Ratio mean = geometric_mean(ratios, weights);
    summary.ratio = mean;
    summary.verdict = judge_whole(mean, verdicts, rules.same_within);
    summary.reason = fmt::format("{:.3f}x ({:.3f} to {:.3f}), {}geometric mean over {} {}", mean.centre,
                                 mean.interval.low, mean.interval.high, summary.weighted ? "weighted " : "",
                                 shapes, shapes == 1 ? "shape" : "shapes");
  }
  GateResult result = ended(summary);
  if (busiest != nullptr) {
    summary.reason = fmt::format("{}; {}", summary.reason, busy_in_words(*busiest->disturbance));
    result = failed(
        Cause::busy_machine, fmt::format("{} {}", name(summary.verdict), summary.reason),
        std::string("wait for the other programs to end (top lists them), then measure again") +
            (summary.ratio ? "" : "; if a call takes seconds, raise performance.seconds in dent.toml"));
  }
  result.records.emplace_back(std::move(summary));
  return result;
}

}  // namespace dent
