// SPDX-License-Identifier: MIT
// An optimisation loop as shown in reports: every hypothesis with its outcome, both kept and dropped ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "records/any_record.h"

namespace dent {

struct ClimbStep {
  record::Iteration iteration;
  std::optional<record::Outcome> outcome{};  // nothing: interrupted
  double speedup = 0;                        // of the incumbent after this step, over the baseline
  std::string diff{};                        // source diff, if it is in the session's folder

  bool kept() const { return outcome && outcome->outcome.kept; }
  std::optional<Ratio> gain() const { return outcome ? outcome->outcome.gain : std::nullopt; }
  std::string_view ending() const { return !outcome ? "interrupted" : kept() ? "kept" : "dropped"; }
  std::string why() const;  // "screening: not faster"
};

struct ClimbView {
  std::optional<record::Loop> loop;  // nothing: the session is not a loop
  std::optional<record::LoopEnd> end;
  std::optional<Ratio> start, winner;  // measured over the baseline
  std::vector<ClimbStep> steps;
  std::vector<record::Comparison> gains;  // winner over start, including held-out shapes
};

void take_climb(ClimbView& climb, const Record& record);  // ignores records that don't belong to a loop

// SVG of the speed over the baseline by iteration; "" without steps.
std::string climb_plot(const ClimbView& climb);

}  // namespace dent
