// SPDX-License-Identifier: MIT
// How a kernel's speed changed between two sessions. Each session compares with its own baseline, so
// differences of the machine between the two days cancel.
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
  bool busy = false, too_busy = false;  // in either session; see measure/busy_rule.h
};

struct SessionChange {
  std::vector<ShapeChange> shapes;
  std::size_t common = 0;       // shapes that both measured, including those with too few samples
  std::optional<Ratio> mean{};  // nothing if a common shape has too few samples
  Verdict verdict = Verdict::ambiguous;
  bool busy = false;  // whether the machine was busy in either session
};

// Throws Error if the baselines differ or no shape is common.
SessionChange change_between(const SessionView& before, const SessionView& after, double same_within);

}  // namespace dent
