// SPDX-License-Identifier: MIT
#include "evaluation/evaluation.h"

#include <chrono>

#include "base/stopwatch.h"
#include "gates/registry.h"

namespace dent {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kStartShare = 0.4;  // of the time box, for each start of the confirmation
constexpr int kTimeBoxes = 5;

const Gate& gate_of(TrialStage stage) {
  switch (stage) {
    case TrialStage::build:
      return build_gate();
    case TrialStage::correctness:
      return correctness_gate();
    case TrialStage::sanitize:
      return sanitize_gate();
    case TrialStage::screening:
    case TrialStage::confirmation:
      return performance_gate();
    case TrialStage::refused:
    case TrialStage::guard:
    case TrialStage::kept:
      break;
  }
  throw Error(ErrorCode::internal, "a stage without a gate");
}

Step step_for(const Trial& trial, const std::string& name, const Project& project,
              const EvaluationRules& rules) {
  const bool of_a_shape = trial.stage != TrialStage::build && trial.stage != TrialStage::sanitize;
  Step step =
      step_of(gate_of(trial.stage), project, name, of_a_shape ? std::optional(trial.shape) : std::nullopt);
  step.shown = false;
  if (trial.stage == TrialStage::screening) step.rules = side_by_side(project, rules.screening_alpha);
  if (trial.stage == TrialStage::confirmation)
    step.rules = side_by_side(project, rules.screening_alpha, kStartShare);
  return step;
}

}  // namespace

Outcome evaluate(Session& session, Sides& sides, const EvaluationRules& rules, const std::string& prefix) {
  const auto start = Clock::now();
  const Project& project = sides.workers().project();
  std::vector<std::string> shapes;
  for (const Shape& shape : project.shapes) shapes.push_back(shape.name);
  const Kernel& incumbent = sides.opponent_kernel();
  const std::string incumbent_binary =
      incumbent.python.empty() ? sides.workers().builder().built(incumbent).binary_hash : "";
  std::vector<GateResult> ended;
  double build_s = 0, kernel_s = 0;
  for (;;) {
    const auto next = judge(ended, rules, shapes, incumbent_binary);
    if (const auto* outcome = std::get_if<Outcome>(&next)) {
      Outcome timed = *outcome;
      timed.build_s = build_s;
      timed.kernel_s = kernel_s;
      timed.elapsed_s = seconds_since(start);
      return timed;
    }
    const auto& trial = std::get<Trial>(next);
    if (trial.stage == TrialStage::confirmation && trial.shape == 0) sides.restart();
    const std::string name = name_of(trial, shapes);
    const auto begun = Clock::now();
    session.progress()(0, name);
    ended.push_back(session.perform(step_for(trial, prefix + "/" + name, project, rules), sides));
    (trial.stage == TrialStage::build ? build_s : kernel_s) += seconds_since(begun);
  }
}

MeasureRules side_by_side(const Project& project, double alpha, double share) {
  MeasureRules rules{project.performance, kTimeBoxes};
  rules.performance.seconds *= share;
  rules.performance.alpha = alpha;
  rules.performance.stop_below = 0;
  return rules;
}

}  // namespace dent
