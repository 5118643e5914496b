// SPDX-License-Identifier: MIT
// What an optimisation loop did, as reports see it: every hypothesis with its outcome, kept and dropped ones
// alike.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "records/record.h"
#include "measure/ratio.h"

namespace dent {

struct ClimbStep {
  int iteration = 0;
  std::string proposer, phase, bottleneck, change, expected, pattern, patch;
  bool ended = false;
  bool kept = false;
  std::string stage, reason, commit;
  std::optional<Ratio> gain;  // over the incumbent
  double speedup = 0;         // of the incumbent afterwards, over the baseline
  double elapsed_s = 0, overhead_s = 0;
};

struct ClimbView {
  std::string branch, base, ended;
  std::optional<double> target;
  std::optional<Ratio> start, winner;  // over the baseline, measured
  std::vector<ClimbStep> steps;
  struct Gain {
    std::string shape, verdict;
    std::optional<Ratio> ratio;
  };
  std::vector<Gain> gains;  // of the winner over the start, held-out shapes too
  bool any() const { return !branch.empty(); }
};

void take_climb(ClimbView& climb, const Record& record);  // ignores what is no loop's

// Speed over the baseline by iteration, drawn as SVG; empty without a step.
std::string climb_plot(const ClimbView& climb);

}  // namespace dent
