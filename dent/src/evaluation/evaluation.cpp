// SPDX-License-Identifier: MIT
#include "evaluation/evaluation.h"

#include "base/error.h"
#include "gates/registry.h"

namespace dent {
namespace {

constexpr double kStartShare = 0.4;  // share of the time box for each start of the confirmation
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

// Reads an evaluation's trials from the session's records, one after the other.
class Reader {
 public:
  Reader(const SessionFacts& facts, const Project& project, const EvaluationRules& rules, std::string prefix)
      : facts_(facts), rules_(rules), prefix_(std::move(prefix)), shapes_(project.shapes) {}

  std::variant<Trial, Outcome> next() {
    for (;;) {
      auto next = judge(ended_, rules_, shapes_);
      if (auto* outcome = std::get_if<Outcome>(&next)) {
        outcome->build_s = build_s_;
        outcome->kernel_s = kernel_s_;
        outcome->elapsed_s = build_s_ + kernel_s_;
        return next;
      }
      const Trial& trial = std::get<Trial>(next);
      const std::string step = name_of(trial);
      const record::Gate* gate = facts_.finished(step);
      if (gate == nullptr) return next;
      GateResult result = result_of(*gate);
      result.records = facts_.records_of(step);
      (trial.stage == TrialStage::build ? build_s_ : kernel_s_) += gate->elapsed_s;
      ended_.push_back(std::move(result));
    }
  }

  std::string name_of(const Trial& trial) const { return prefix_ + "/" + dent::name_of(trial, shapes_); }

 private:
  const SessionFacts& facts_;
  EvaluationRules rules_;
  std::string prefix_;
  const std::vector<Shape>& shapes_;
  std::vector<GateResult> ended_;
  double build_s_ = 0, kernel_s_ = 0;
};

}  // namespace

Outcome evaluate(Session& session, Sides& sides, const EvaluationRules& rules, const std::string& prefix) {
  const Project& project = sides.workers().project();
  Reader reader(session.facts(), project, rules, prefix);
  const auto first_timed = std::find_if(project.shapes.begin(), project.shapes.end(),
                                        [](const Shape& shape) { return shape.timed(); });
  const auto first = static_cast<std::size_t>(first_timed - project.shapes.begin());
  for (;;) {
    const auto next = reader.next();
    if (const auto* outcome = std::get_if<Outcome>(&next)) return *outcome;
    const auto& trial = std::get<Trial>(next);
    if (trial.stage == TrialStage::confirmation && trial.shape == first) sides.restart();
    session.perform(step_for(trial, reader.name_of(trial), project, rules), sides);
  }
}

std::variant<std::string, Outcome> evaluation_on_record(const SessionFacts& facts, const Project& project,
                                                        const EvaluationRules& rules,
                                                        const std::string& prefix) {
  Reader reader(facts, project, rules, prefix);
  auto next = reader.next();
  if (auto* outcome = std::get_if<Outcome>(&next)) return std::move(*outcome);
  return reader.name_of(std::get<Trial>(next));
}

MeasureRules side_by_side(const Project& project, double alpha, double share) {
  MeasureRules rules{project.performance, kTimeBoxes};
  rules.performance.seconds *= share;
  rules.performance.alpha = alpha;
  rules.performance.stop_below = 0;
  return rules;
}

}  // namespace dent
