// SPDX-License-Identifier: MIT
#include "gates/performance/gpu_clock.h"

#include <algorithm>

namespace dent {
namespace {

// A kernel that takes this many times the events' floor is told right to better than a percent.
constexpr double kLong = 100;

}  // namespace

record::Clock choose_gpu_clock(const ClockTrial& candidate, const ClockTrial& opponent) {
  record::Clock clock{.by = TimedBy::events,
                      .floor_ns = std::max(candidate.events_floor_ns, opponent.events_floor_ns),
                      .candidate_host_ns = candidate.host_ns,
                      .baseline_host_ns = opponent.host_ns,
                      .candidate_events_ns = candidate.ns,
                      .baseline_events_ns = opponent.ns};
  // Where the floor is not known it can't be said that a kernel is long.
  const bool is_long = clock.floor_ns > 0 && std::min(candidate.ns, opponent.ns) >= kLong * clock.floor_ns;
  if (is_long) return clock;
  if (!candidate.not_captured.empty()) {
    clock.why = "the candidate's calls can't be in a graph: " + candidate.not_captured;
  } else if (!opponent.not_captured.empty()) {
    clock.why = "the other side's calls can't be in a graph: " + opponent.not_captured;
  } else {
    clock.by = TimedBy::graph;
    clock.floor_ns = std::max(candidate.graph_floor_ns, opponent.graph_floor_ns);
  }
  return clock;
}

}  // namespace dent
