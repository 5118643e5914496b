// SPDX-License-Identifier: MIT
#include "evaluation/validation.h"

#include <fmt/format.h>

#include "evaluation/evaluation.h"
#include "gates/registry.h"

namespace dent {
namespace {

class Validation {
 public:
  Validation(Session& session, WorkerFactory& workers, Oracle& oracle, const Finalists& finalists,
             const std::string& prefix)
      : session_(session),
        project_(workers.project()),
        workers_(workers),
        finalists_(finalists),
        sides_(workers, oracle, finalists.winner, finalists.start, Against::start,
               session.folder().artifacts()),
        prefix_(prefix) {}

  std::optional<Failed> run() {
    if (!passes(build()) || !right_on_every_shape(sides_, prefix_)) return failure_;
    if (!passes(session_.perform(step_of(sanitize_gate(), project_, prefix_ + "/sanitize"), sides_)))
      return failure_;
    if (holds_on_held_out_shapes()) gains_over_the_start();
    return failure_;
  }

 private:
  bool passes(const GateResult& result) {
    if (const Failed* how = result.failed()) failure_ = *how;
    return !failure_;
  }

  GateResult build() {
    Step step = step_of(build_gate(), project_, prefix_ + "/build");
    step.options.clean = true;
    return session_.perform(step, sides_);
  }

  bool right_on_every_shape(Sides& sides, const std::string& prefix, bool held_out = false) {
    const Project& project = sides.workers().project();
    for (std::size_t shape = 0; shape < project.shapes.size(); ++shape) {
      Step step = step_of(correctness_gate(), project,
                          fmt::format("{}/correctness/{}", prefix, project.shapes[shape].name), shape);
      step.held_out = held_out;
      if (!passes(session_.perform(step, sides))) return false;
    }
    return true;
  }

  GateResult measure(Sides& sides, std::size_t shape, const std::string& prefix) {
    const Project& project = sides.workers().project();
    Step step = step_of(performance_gate(), project,
                        fmt::format("{}/gain/{}", prefix, project.shapes[shape].name), shape);
    step.rules = side_by_side(project, project.performance.alpha);
    return session_.perform(step, sides);
  }

  bool holds_on_held_out_shapes() {
    Project unseen = project_;
    unseen.shapes = finalists_.held_out;
    if (unseen.shapes.empty()) return true;
    WorkerFactory workers(unseen, workers_.resources(), workers_.builder());
    workers.share_turns(workers_);
    Oracle oracle(workers, sides_.artifacts());
    Sides sides(workers, oracle, finalists_.winner, finalists_.start, Against::start, sides_.artifacts());
    sides_.restart();
    const std::string prefix = prefix_ + "/held-out";
    if (!right_on_every_shape(sides, prefix, true)) return false;
    for (std::size_t shape = 0; shape < unseen.shapes.size(); ++shape) {
      if (!unseen.shapes[shape].timed()) continue;
      const GateResult measured = measure(sides, shape, prefix);
      if (!passes(measured)) return false;
      const auto gain = gain_of(measured);
      if (!gain || !loses_too_much(*gain, {0, project_.optimize.shape_loss})) continue;
      return passes(session_.settle(
          {.name = prefix + "/gain"},
          failed(Cause::regressed,
                 fmt::format("on the held-out shape {} the winner is slower than the start: {:.3f}x",
                             gain->shape, gain->ratio.centre),
                 "it fits the shapes of the manifest and no others: add that shape to dent.toml")));
    }
    return true;
  }

  bool gains_over_the_start() {
    std::vector<ShapeGain> gains;
    for (std::size_t shape = 0; shape < project_.shapes.size(); ++shape) {
      if (!project_.shapes[shape].timed()) continue;
      const GateResult measured = measure(sides_, shape, prefix_);
      if (!passes(measured)) return false;
      if (const auto gain = gain_of(measured)) gains.push_back(*gain);
    }
    const Judgement judgement = judge_gains(gains, {0, project_.optimize.shape_loss});
    if (judgement.faster) return true;
    const bool slower = judgement.mean && judgement.mean->interval.high < 1;
    return passes(session_.settle(
        {.name = prefix_ + "/gain"},
        failed(slower               ? Cause::regressed
               : judgement.too_busy ? Cause::busy_machine
                                    : Cause::ambiguous,
               fmt::format("the winner, built again, does not hold against the start: {}{}",
                           judgement.too_busy ? "the machine was too busy to tell: " : "", judgement.reason),
               "its iterations are in the report")));
  }

  Session& session_;
  const Project& project_;
  WorkerFactory& workers_;
  const Finalists& finalists_;
  Sides sides_;
  const std::string& prefix_;
  std::optional<Failed> failure_;
};

}  // namespace

std::optional<Failed> validate(Session& session, WorkerFactory& workers, Oracle& oracle,
                               const Finalists& finalists, const std::string& prefix) {
  return Validation(session, workers, oracle, finalists, prefix).run();
}

}  // namespace dent
