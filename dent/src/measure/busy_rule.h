// SPDX-License-Identifier: MIT
// What a busy machine leaves of a verdict: one rule for gates, sessions, commits, the loop, suites and
// reports.
//
// The interval of a comparison is first widened by what other programs could have taken from one side alone
// (doubt_of() in measure/disturbance.h). FASTER, SLOWER or SAME of the widened interval stands, on a busy
// machine. Where it is AMBIGUOUS, the machine is the reason when the interval without that widening is not,
// or when it includes 1 by itself: programs that come and go scatter the pairs. An interval that leaves out 1
// while its centre counts as the same is AMBIGUOUS on any machine.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "measure/ratio.h"
#include "measure/verdict.h"

namespace dent {

struct ShapeSpeed {
  std::optional<Ratio> ratio{};  // widened; nothing: too few pairs
  SpeedVerdict verdict = SpeedVerdict::ambiguous;
  Doubt taken{};  // what it was widened by for other programs
  bool busy = false;
  double weight = 1;
};

// Whether a quiet machine could have told more.
bool too_busy_to_tell(const ShapeSpeed& shape, double same_within);

struct WholeSpeed {
  std::optional<Ratio> mean{};
  SpeedVerdict verdict = SpeedVerdict::ambiguous;
  bool busy = false;      // while one of them was measured
  bool too_busy = false;  // to tell
};
WholeSpeed over_shapes(std::span<const ShapeSpeed> shapes, double same_within);

// "FASTER", "FASTER on a busy machine", "BUSY MACHINE"
std::string in_words(SpeedVerdict verdict, bool busy, bool too_busy);

}  // namespace dent
