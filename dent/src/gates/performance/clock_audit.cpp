// SPDX-License-Identifier: MIT
#include "gates/performance/clock_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "measure/interval.h"

namespace dent {
namespace {

constexpr double kLeastDifference =
    0.1;  // as a share of the longer batch's calls: smaller differences show only noise

// Uncounted time per additional call, one value for every two consecutive batches whose lengths differ
// enough.
std::vector<double> uncounted_per_call(std::span<const TwoClocks> stretches, bool forgive_waiting) {
  const auto uncounted_ns = [forgive_waiting](const TwoClocks& stretch) {
    const double ns = stretch.passed_ns - stretch.counted_ns;
    return forgive_waiting ? std::max(0.0, ns - stretch.waited_ns) : ns;
  };
  std::vector<double> found;
  for (std::size_t i = 0; i + 1 < stretches.size(); i += 2) {
    const TwoClocks &a = stretches[i], &b = stretches[i + 1];
    const double more_calls = static_cast<double>(b.calls) - static_cast<double>(a.calls);
    if (std::abs(more_calls) < kLeastDifference * static_cast<double>(std::max(a.calls, b.calls))) continue;
    found.push_back((uncounted_ns(b) - uncounted_ns(a)) / more_calls);
  }
  return found;
}

}  // namespace

ClockAudit audit_clocks(std::span<const TwoClocks> stretches, const ClockRules& rules) {
  if (stretches.empty()) return {};
  std::vector<double> counted, excess;
  for (const TwoClocks& stretch : stretches) {
    counted.push_back(stretch.counted_ns / static_cast<double>(stretch.calls));
    excess.push_back(stretch.passed_ns / std::max(stretch.counted_ns, 1.0) - 1);
  }
  const double per_call = median(counted);
  const double whole_excess =
      median(excess);  // includes the request's round trip: an upper bound, useful for long calls
  // An accusation of tampering ignores time spent waiting; the bound of hidden time includes it.
  const auto uncounted = median_estimate(uncounted_per_call(stretches, true), rules.alpha);
  const auto at_worst = median_estimate(uncounted_per_call(stretches, false), rules.alpha);
  if (!uncounted || !at_worst) return {ClockVerdict::unclear, "", whole_excess};
  const double most = std::min(whole_excess, at_worst->interval.high / std::max(per_call, 1.0));
  const double allowed = rules.share * per_call + rules.ns_per_call;
  if (at_worst->interval.high <= allowed) return {ClockVerdict::honest, "", most};
  if (uncounted->interval.low <= allowed) return {ClockVerdict::unclear, "", most};
  return {ClockVerdict::tampered,
          fmt::format("it counted {:.0f} ns per call, but {:.0f} ns more passed for each", per_call,
                      uncounted->centre),
          most};
}

}  // namespace dent
