// SPDX-License-Identifier: MIT
// Before the first iteration: the repository, the gates, and where the kernel stands.
#include <fmt/format.h>

#include "base/error.h"
#include "evaluation/standing.h"
#include "gates/registry.h"
#include "loop/loop.h"
#include "loop/proposers/harness.h"

namespace dent {

Budget Loop::budget() const {
  Budget budget = project_.budget;
  if (state_.minutes > 0) budget.minutes = state_.minutes;
  if (options_.minutes) budget.minutes = *options_.minutes;
  return budget;
}

void Loop::open() {
  const int iterations = most_iterations(project_, options_);
  const double target = options_.target.value_or(project_.optimize.target);
  const std::string& id = session_.folder().id;
  append(record::Loop{.base = repository_.snapshot("dent: the tree as it was when session " + id + " began"),
                      .branch = "dent/" + id,
                      .harness = harness_hash(project_),
                      .target_shape = project_.optimize.target_shape,
                      .private_repository = repository_.is_private(),
                      .iterations = iterations,
                      .confirmation_alpha = confirmation_alpha(project_.optimize.false_keep, iterations),
                      .target = target > 0 ? std::optional(target) : std::nullopt,
                      .minutes = options_.minutes,  // the manifest's may be raised before a resume
                      .choice = project_.choice});
}

// Done twice is done once: whatever a killed loop had left, the records say where things belong.
void Loop::put_in_place() {
  const std::string& id = session_.folder().id;
  if (!repository_.has(state_.base) || !repository_.has(state_.incumbent_commit())) {
    throw Error(
        ErrorCode::environment, "the commits of session " + id + " are gone from the repository",
        "its patches are in .dent/sessions/" + id + "/artifacts/patches; start a new loop: dent optimize");
  }
  const Iteration* kept = state_.last_kept();
  if (kept != nullptr) {
    repository_.move_branch(state_.branch, kept->parent, kept->commit);
  } else {
    repository_.move_branch(state_.branch, std::nullopt, state_.base);
  }
  const LoopStage next = stage();
  if (next == LoopStage::validating || next == LoopStage::concluding) return;
  const double each_s = static_cast<double>(project_.shapes.size()) *
                        (project_.correctness.seconds + 4 * project_.performance.seconds);
  session_.say(fmt::format("{} changes at most{}, up to {:.0f} s each and its build; kept ones go to {}{}",
                           state_.most_iterations - state_.done(),
                           state_.target > 0 ? fmt::format(" until {}x of the baseline{}", state_.target,
                                                           where_the_target_counts(state_))
                                             : "",
                           each_s, state_.branch, repository_.is_private() ? " in .dent/repository" : ""));
  incumbent_.emplace(repository_, worktrees() / "incumbent", state_.incumbent_commit());
  candidate_.emplace(repository_, worktrees() / "candidate", state_.incumbent_commit());
  incumbent_kernel_ = kernel_in(*incumbent_, state_.incumbent(),
                                kept != nullptr ? fmt::format("{:03}", kept->number) : "start");
  against_baseline_.set_candidate(incumbent_kernel_);
}

void Loop::start() {
  for (const Gate* gate : {&preflight_gate(), &build_gate(), &baseline_gate()}) {
    Step step = step_of(*gate, project_, std::string(gate->info().name));
    step.options.rebaseline = options_.rebaseline;
    if (session_.perform(step, against_baseline_).failed() != nullptr) return;
  }
  for (std::size_t shape = 0; shape < project_.shapes.size(); ++shape) {
    const Step step =
        step_of(correctness_gate(), project_, "correctness/" + project_.shapes[shape].name, shape);
    if (session_.perform(step, against_baseline_).failed() != nullptr) return;
  }
  measure_standing(session_, against_baseline_, StandingOf::start, "performance");
}

}  // namespace dent
