// SPDX-License-Identifier: MIT
// Checks that a worker's clock runs as fast as ours. The worker is the candidate's process, so the candidate
// may tamper with its times.
//
// For every batch we know the number of calls, the time that the worker counted, and the time that passed
// here. Ours is longer by the request's round trip, which does not depend on the number of calls. So
// uncounted time that grows with the number of calls was spent in calls that the worker did not count, or
// counted with a slow clock.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace dent {

struct TwoClocks {
  std::size_t calls = 0;
  double counted_ns = 0;
  double passed_ns = 0;
  double waited_ns =
      0;  // part spent waiting for a processor: no evidence of tampering, but perhaps partly counted
};

struct ClockRules {
  double share = 0.05;       // share of the counted time that may pass uncounted
  double ns_per_call = 150;  // additional time of the worker's loop around a call; see loop_cost.h
  double alpha = 1e-4;       // of the interval; small, since a false accusation is worse than another batch
};

enum class ClockVerdict { honest, tampered, unclear };

struct ClockAudit {
  ClockVerdict verdict = ClockVerdict::unclear;
  std::string evidence;  // set if tampered
  double uncounted = 0;  // upper bound of the uncounted share of the counted time, as far as it is known
};

// `stretches` are in the order taken; of two consecutive ones, one must hold more calls. The verdict is
// unclear if they are too few or too noisy.
ClockAudit audit_clocks(std::span<const TwoClocks> stretches, const ClockRules& rules);

}  // namespace dent
