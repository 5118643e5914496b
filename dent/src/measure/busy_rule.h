// SPDX-License-Identifier: MIT
// How other programs on the machine limit a verdict: one rule for gates, sessions, commits, the loop, suites
// and reports.
//
// The interval of a comparison is first widened by the time that other programs could have taken from one
// side alone (doubt_of() in measure/disturbance.h). If the widened interval still says FASTER, SLOWER or
// SAME, the verdict stands "on a busy machine". If it says AMBIGUOUS, the busy machine is named as the reason
// in two cases: the interval was not ambiguous before widening, or it includes 1 anyway (programs that come
// and go scatter the pairs). An interval that excludes 1 while its centre lies within `same_within` is
// AMBIGUOUS on any machine.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "measure/ratio.h"
#include "measure/verdict.h"

namespace dent {

struct ShapeSpeed {
  std::optional<Ratio> ratio{};  // widened for other programs; nothing: too few pairs
  SpeedVerdict verdict = SpeedVerdict::ambiguous;
  Doubt taken{};  // by how much it was widened for other programs
  bool busy = false;
  double weight = 1;
};

// Whether a quiet machine might have given a clearer verdict.
bool too_busy_to_tell(const ShapeSpeed& shape, double same_within);

struct WholeSpeed {
  std::optional<Ratio> mean{};
  SpeedVerdict verdict = SpeedVerdict::ambiguous;
  bool busy = false;      // during any of the measurements
  bool too_busy = false;  // too busy for a verdict
};
WholeSpeed over_shapes(std::span<const ShapeSpeed> shapes, double same_within);

// "FASTER", "FASTER on a busy machine", "BUSY MACHINE"
std::string in_words(SpeedVerdict verdict, bool busy, bool too_busy);

}  // namespace dent
