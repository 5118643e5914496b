// SPDX-License-Identifier: MIT
// How a kernel's speed changed between two sessions. Each was measured against the baseline of its own
// session, so the machine's mood on the day falls out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/verdict.h"
#include "report/session_view.h"

namespace dent {

struct ShapeChange {
  std::string shape;
  Ratio before, after, change;
  SpeedVerdict verdict = SpeedVerdict::ambiguous;
  bool busy = false, too_busy = false;  // the machine, in either session; measure/busy_rule.h
};

struct SessionChange {
  std::vector<ShapeChange> shapes;
  std::size_t common = 0;       // shapes that both measured; those with too few samples are not in `shapes`
  std::optional<Ratio> mean{};  // nothing where a common shape has too few samples
  Verdict verdict = Verdict::ambiguous;
  bool busy = false;  // the machine, in either session
};

// Throws Error where they have another baseline or no shape in common.
SessionChange change_between(const SessionView& before, const SessionView& after, double same_within);

}  // namespace dent
