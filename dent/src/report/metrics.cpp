// SPDX-License-Identifier: MIT
#include "report/metrics.h"

#include <fmt/format.h>

#include <algorithm>

#include "measure/interval.h"
#include "records/json_object.h"

namespace dent {
namespace {

constexpr double kAlpha = 0.05;

// Interval of the candidate's own time. The ratio's interval can't be used: it is narrower, since
// disturbances of both sides cancel in it.
std::optional<Estimate> time_of(const SessionView& session, const std::string& shape) {
  for (const record::Samples& samples : session.samples) {
    if (samples.shape != shape) continue;
    std::vector<double> kept;
    for (std::size_t i = 0; i < samples.candidate_ns.size(); ++i) {
      const bool aside = std::find(samples.aside.begin(), samples.aside.end(),
                                   static_cast<std::int64_t>(i)) != samples.aside.end();
      if (!aside) kept.push_back(samples.candidate_ns[i]);
    }
    return median_estimate(kept, kAlpha);
  }
  return std::nullopt;
}

std::string name_of(const SessionView& session, const record::Comparison& comparison) {
  return session.session.project + "/" + comparison.shape;
}

JsonObject metric(double value, const std::optional<Interval>& interval) {
  JsonObject metric{{"value", value}};
  if (interval) metric.add("lower_value", interval->low).add("upper_value", interval->high);
  return metric;
}

}  // namespace

std::string bencher_metrics(const SessionView& session) {
  JsonObject all;
  for (const record::Comparison& comparison : session.comparisons) {
    const auto time = time_of(session, comparison.shape);
    JsonObject measures{
        {"latency", metric(comparison.candidate_ns, time ? std::optional(time->interval) : std::nullopt)}};
    if (comparison.ratio)
      measures.add("speedup", metric(comparison.ratio->centre, comparison.ratio->interval));
    all.add(name_of(session, comparison), measures);
  }
  return all.text();
}

std::string action_benchmark(const SessionView& session) {
  JsonList all;
  for (const record::Comparison& comparison : session.comparisons) {
    const auto time = time_of(session, comparison.shape);
    const double half = time ? (time->interval.high - time->interval.low) / 2e3 : 0;
    JsonObject one{
        {"name", name_of(session, comparison)}, {"unit", "us"}, {"value", comparison.candidate_ns / 1e3}};
    if (time) one.add("range", fmt::format("± {:.3g}", half));
    if (comparison.ratio) {
      one.add("extra", fmt::format("{:.3f}x of {} ({:.3f} to {:.3f})", comparison.ratio->centre,
                                   session.session.baseline, comparison.ratio->interval.low,
                                   comparison.ratio->interval.high));
    }
    all.add(one);
  }
  return all.text();
}

}  // namespace dent
