// SPDX-License-Identifier: MIT
// What an optimisation loop did, as reports see it: every hypothesis with its outcome, kept and dropped ones
// alike.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "records/any_record.h"

namespace dent {

struct ClimbStep {
  record::Iteration iteration;
  std::optional<record::Outcome> outcome{};  // nothing: interrupted
  double speedup = 0;                        // of the incumbent afterwards, over the baseline
  std::string diff{};                        // of its sources, where the session's folder has it

  bool kept() const { return outcome && outcome->outcome.kept; }
  std::optional<Ratio> gain() const { return outcome ? outcome->outcome.gain : std::nullopt; }
  std::string_view ending() const { return !outcome ? "interrupted" : kept() ? "kept" : "dropped"; }
  std::string why() const;  // "screening: not faster"
};

struct ClimbView {
  std::optional<record::Loop> loop;  // nothing: the session is no loop
  std::optional<record::LoopEnd> end;
  std::optional<Ratio> start, winner;  // over the baseline, measured
  std::vector<ClimbStep> steps;
  std::vector<record::Comparison> gains;  // of the winner over the start, held-out shapes too
};

void take_climb(ClimbView& climb, const Record& record);  // ignores what is no loop's

// Speed over the baseline by iteration, drawn as SVG; empty without a step.
std::string climb_plot(const ClimbView& climb);

}  // namespace dent
