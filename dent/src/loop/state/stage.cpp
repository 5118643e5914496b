// SPDX-License-Identifier: MIT
#include "loop/state/stage.h"

#include <fmt/format.h>

#include "accounting/step_name.h"

namespace dent {

namespace {

constexpr std::string_view kWinner = "winner/";  // steps of a validation

bool has_ended(const LoopState& state, bool spent) {
  return state.ended && (state.ended->ending != LoopEnding::budget_spent || spent);
}

}  // namespace

const record::Gate* stopped_by(const SessionFacts& facts, const LoopState& state, bool spent) {
  for (const record::Gate& gate : facts.gates()) {
    if (gate.verdict != StepVerdict::fail || iteration_of(gate.step)) continue;
    if (has_ended(state, spent) || !gate.step.starts_with(kWinner)) return &gate;
  }
  return nullptr;
}

std::string diagnosis_step(const LoopState& state) {
  const Iteration* kept = state.last_kept();
  return fmt::format("diagnosis/{:03}", kept != nullptr ? kept->number : 0);
}

LoopStage next_stage(const LoopState& state, const SessionFacts& facts, bool spent, bool dry) {
  if (!state.opened) return LoopStage::opening;
  if (stopped_by(facts, state, spent) != nullptr) return LoopStage::concluding;
  if (has_ended(state, spent)) {
    return state.last_kept() != nullptr && !state.winner ? LoopStage::validating : LoopStage::concluding;
  }
  if (!state.first) return LoopStage::starting;
  const bool over = state.reached() || state.done() + state.in_flight() >= state.most_iterations || spent;
  if (state.in_flight() > 0 && (over || dry || state.in_flight() >= state.parallel))
    return LoopStage::evaluating;
  if (state.target > 0 && !state.measured() && state.towards_target() >= state.target)
    return LoopStage::checking_target;
  if (!over && facts.finished(diagnosis_step(state)) == nullptr) return LoopStage::diagnosing;
  return LoopStage::proposing;
}

}  // namespace dent
