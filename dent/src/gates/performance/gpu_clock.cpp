// SPDX-License-Identifier: MIT
#include "gates/performance/gpu_clock.h"

#include <algorithm>

namespace dent {
namespace {

// Times longer than this multiple of the events' floor are accurate to better than one per cent.
constexpr double kLong = 100;
// A host that needs at most this share of the kernel's time to launch it stays ahead of the GPU.
constexpr double kHostShare = 0.5;

constexpr double kEventsSampleNs = 500e3;
constexpr double kGraphSampleNs = 100e3;  // shorter, since capturing a call takes time
constexpr int kPlaces = 8;

bool host_is_ahead(double host_ns, double ns) { return host_ns <= kHostShare * ns; }

bool is_long(const ClockTrial& side, double floor_ns) {
  return side.ns >= kLong * floor_ns && host_is_ahead(side.host_ns, side.ns);
}

}  // namespace

record::Clock choose_gpu_clock(const ClockTrial& candidate, const ClockTrial& opponent) {
  record::Clock clock{.by = TimedBy::events,
                      .floor_ns = std::max(candidate.events_floor_ns, opponent.events_floor_ns),
                      .candidate_host_ns = candidate.host_ns,
                      .baseline_host_ns = opponent.host_ns,
                      .candidate_events_ns = candidate.ns,
                      .baseline_events_ns = opponent.ns};
  // Without a known floor a kernel can't be called long.
  if (clock.floor_ns > 0 && is_long(candidate, clock.floor_ns) && is_long(opponent, clock.floor_ns))
    return clock;
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

bool takes_the_hosts_time(const record::Clock& clock) {
  return clock.by == TimedBy::events && !(host_is_ahead(clock.candidate_host_ns, clock.candidate_events_ns) &&
                                          host_is_ahead(clock.baseline_host_ns, clock.baseline_events_ns));
}

void sample_on_gpu(SamplingPolicy& policy, const record::Clock& clock, bool made) {
  policy.min_sample_ns = clock.by == TimedBy::graph ? kGraphSampleNs : kEventsSampleNs;
  policy.spread_calls = kPlaces;
  if (made) policy.spread_ns = kEventsSampleNs;
}

}  // namespace dent
