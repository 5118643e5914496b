// SPDX-License-Identifier: MIT
#include "evaluation/part.h"

#include "base/error.h"
#include "evaluation/evaluation.h"
#include "evaluation/standing.h"
#include "evaluation/validation.h"
#include "gates/registry.h"
#include "records/loop.h"

namespace dent {
namespace {

constexpr double kDiagnosisSeconds = 120;

void start(const LoopPart& part, Session& session, Sides& against_baseline) {
  const Project& project = against_baseline.workers().project();
  for (const Gate* gate : {&preflight_gate(), &build_gate(), &baseline_gate()}) {
    Step step = step_of(*gate, project, std::string(gate->info().name));
    step.options.rebaseline = part.rebaseline;
    if (session.perform(step, against_baseline).failed() != nullptr) return;
  }
  for (std::size_t shape = 0; shape < project.shapes.size(); ++shape) {
    const Step step =
        step_of(correctness_gate(), project, "correctness/" + project.shapes[shape].name, shape);
    if (session.perform(step, against_baseline).failed() != nullptr) return;
  }
  measure_standing(session, against_baseline, StandingOf::start, "performance");
}

// A failing profiler does not stop the loop.
void diagnose(const LoopPart& part, Session& session, Sides& against_baseline) {
  Step step = step_of(profile_gate(), against_baseline.workers().project(), part.name,
                      static_cast<std::size_t>(part.shape));
  step.time_box_s = kDiagnosisSeconds;
  step.may_fail = true;
  session.perform(step, against_baseline);
}

void evaluate(const LoopPart& part, const PartKernels& kernels, Session& session, Sides& against_baseline) {
  const auto logs = session.folder().artifacts() / "logs" / part.name;
  std::filesystem::create_directories(logs);
  Sides sides(against_baseline.workers(), against_baseline.oracle(), kernels.candidate,
              kernels.opponent.value(), Against::incumbent, logs);
  dent::evaluate(session, sides, part.rules, part.name);
}

void validate(const LoopPart& part, const PartKernels& kernels, Session& session, Sides& against_baseline) {
  const Finalists finalists{
      .winner = kernels.candidate, .start = kernels.opponent.value(), .held_out = part.held_out};
  if (validate(session, against_baseline.workers(), against_baseline.oracle(), finalists, part.name)) return;
  measure_standing(session, against_baseline, StandingOf::winner, part.name + "/performance");
}

}  // namespace

void perform(const LoopPart& part, const PartKernels& kernels, Session& session, Sides& against_baseline) {
  switch (part.kind) {
    case PartKind::start:
      return start(part, session, against_baseline);
    case PartKind::diagnosis:
      return diagnose(part, session, against_baseline);
    case PartKind::evaluation:
      return evaluate(part, kernels, session, against_baseline);
    case PartKind::standing:
      measure_standing(session, against_baseline, StandingOf::incumbent, part.name);
      return;
    case PartKind::validation:
      return validate(part, kernels, session, against_baseline);
  }
}

static void fields(Fields& f, KeepRule& rule) {
  f("min_gain", rule.min_gain, "below it nothing is worth a change");
  f("shape_loss", rule.shape_loss, "that no shape may lose");
}

static void fields(Fields& f, EvaluationRules& rules) {
  f("keep", rules.keep, "when a change is an improvement");
  f("screening_alpha", rules.screening_alpha, "of the first measurement's intervals");
  f("confirmation_alpha", rules.confirmation_alpha, "of the confirmation's interval");
  f.may("sanitize", rules.sanitize, "whether the memory checker is due");
}

void fields(Fields& f, PartKernel& kernel) {
  f("name", kernel.name, "for its builds");
  f("choice", kernel.choice, "variant and tunables");
  f.may("changes", kernel.changes, "folder of the files that differ from those that the loop began with");
  f.may("removed", kernel.removed, "files that it does not have");
}

void fields(Fields& f, LoopPart& part) {
  f("kind", part.kind, "which part of the loop it is");
  f("name", part.name, "its steps are called so, and more");
  f("candidate", part.candidate, "the kernel that it is about");
  f("opponent", part.opponent, "the incumbent, or what the loop began with; left out: the baseline");
  f.may("baseline", part.baseline, "that the session has chosen");
  f("rules", part.rules, "of an evaluation");
  f.may("shape", part.shape, "of a diagnosis: index");
  f.may("held_out", part.held_out, "of a validation: shapes that no proposer saw");
  f.may("rebaseline", part.rebaseline, "forget the recorded baseline");
}

}  // namespace dent
