// SPDX-License-Identifier: MIT
#include "report/climb.h"

#include "report/last_word.h"

namespace dent {
namespace {

void take(ClimbView& climb, const record::Iteration& iteration) {
  const double before =
      climb.steps.empty() ? (climb.start ? climb.start->centre : 0) : climb.steps.back().speedup;
  climb.steps.push_back({.iteration = iteration, .speedup = before});
}

void take(ClimbView& climb, const record::Outcome& outcome) {
  for (ClimbStep& step : climb.steps) {
    if (step.iteration.iteration != outcome.iteration) continue;
    step.outcome = outcome;
    if (step.kept() && step.gain()) step.speedup *= step.gain()->centre;
  }
}

void take(ClimbView& climb, const record::Standing& standing) {
  switch (standing.of) {
    case StandingOf::start:
      climb.start = standing.ratio;
      break;
    case StandingOf::incumbent:
      if (!climb.steps.empty()) climb.steps.back().speedup = standing.ratio.centre;
      break;
    case StandingOf::winner:
      climb.winner = standing.ratio;
      break;
  }
}

}  // namespace

std::string ClimbStep::why() const {
  if (!outcome) return {};
  return std::string(name(outcome->outcome.stage)) + ": " + outcome->outcome.reason;
}

void take_climb(ClimbView& climb, const Record& record) {
  if (const auto* loop = record.as<record::Loop>()) climb.loop = *loop;
  if (const auto* iteration = record.as<record::Iteration>()) take(climb, *iteration);
  if (const auto* outcome = record.as<record::Outcome>()) take(climb, *outcome);
  if (const auto* standing = record.as<record::Standing>()) take(climb, *standing);
  if (const auto* end = record.as<record::LoopEnd>()) climb.end = *end;
  const auto* comparison = record.as<record::Comparison>();
  if (comparison != nullptr && comparison->against == Against::start)
    last_word(climb.gains, *comparison, &record::Comparison::shape);
}

}  // namespace dent
