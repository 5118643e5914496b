// SPDX-License-Identifier: MIT
// Does a worker's clock run as fast as ours? Its process is the candidate's, so what it says can be tampered
// with.
//
// Of every stretch we know the calls, the time that the worker counted, and the time that passed here. Ours
// is longer by the way there and back, which does not depend on the number of calls. So what grows with the
// number of calls, beyond the counted time, was spent in calls that the worker did not count, or counted with
// a slow clock.
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
      0;  // of it, waiting for a processor: nobody's lie, though part of it may have been counted
};

struct ClockRules {
  double share = 0.05;       // of the counted time that may pass uncounted,
  double ns_per_call = 150;  // and what the worker's loop around the calls may take; see loop_cost.h
  double alpha = 1e-4;       // of the interval; a false alarm is worse than one more stretch
};

enum class ClockVerdict { honest, tampered, unclear };

struct ClockAudit {
  ClockVerdict verdict = ClockVerdict::unclear;
  std::string evidence;  // when tampered
  double uncounted = 0;  // at most this share of the counted time has passed uncounted, as far as is known
};

// In the order taken; of every two in a row one must hold more calls than the other. Unclear when they are
// too few or too noisy.
ClockAudit audit_clocks(std::span<const TwoClocks> stretches, const ClockRules& rules);

}  // namespace dent
