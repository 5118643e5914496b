// SPDX-License-Identifier: MIT
#include "report/climb.h"

#include <algorithm>

#include "report/last_word.h"

namespace dent {
namespace {

// The last step with an outcome, since outcomes come in the order of the iterations.
ClimbStep* last_done(ClimbView& climb) {
  const auto last = std::find_if(climb.steps.rbegin(), climb.steps.rend(),
                                 [](const ClimbStep& step) { return step.outcome.has_value(); });
  return last == climb.steps.rend() ? nullptr : &*last;
}

double speedup(ClimbView& climb) {
  const ClimbStep* last = last_done(climb);
  return last != nullptr ? last->speedup : climb.start ? climb.start->centre : 0;
}

void take(ClimbView& climb, const record::Iteration& iteration) {
  const auto begun = std::find_if(climb.steps.begin(), climb.steps.end(), [&](const ClimbStep& step) {
    return step.iteration.iteration == iteration.iteration;
  });
  if (begun != climb.steps.end()) {
    begun->iteration = iteration;  // tried again, against another incumbent
  } else {
    climb.steps.push_back({.iteration = iteration, .speedup = speedup(climb)});
  }
}

void take(ClimbView& climb, const record::Outcome& outcome) {
  const double before = speedup(climb);
  for (ClimbStep& step : climb.steps) {
    if (step.iteration.iteration != outcome.iteration) continue;
    step.outcome = outcome;
    step.speedup = before;
    if (step.kept() && step.gain()) step.speedup *= step.gain()->centre;
  }
}

void take(ClimbView& climb, const record::Standing& standing) {
  switch (standing.of) {
    case StandingOf::start:
      climb.start = standing.ratio;
      break;
    case StandingOf::incumbent:
      if (ClimbStep* last = last_done(climb)) last->speedup = standing.ratio.centre;
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
