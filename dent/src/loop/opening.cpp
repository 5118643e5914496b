// SPDX-License-Identifier: MIT
// Before the first iteration: the repository, the gates, and where the kernel stands.
#include <fmt/format.h>

#include "base/error.h"
#include "loop/loop.h"
#include "loop/proposers/harness.h"

namespace dent {

Budget Loop::budget() const {
  Budget budget = project_.budget;
  if (state_.minutes > 0) budget.minutes = state_.minutes;
  if (options_.minutes) budget.minutes = *options_.minutes;
  return budget;
}

void Loop::settle_where() {
  const bool begun = state_.opened;
  if (!begun && options_.executor.empty() && !session_.facts().empty() &&
      session_.facts().session().baseline.empty()) {
    throw Error(
        ErrorCode::invalid,
        fmt::format("session {} ended before anything was sent to its executor", session_.folder().id),
        fmt::format("start a new one: dent {} --on NAME", options_.command));
  }
  const std::string executor = begun ? state_.executor : options_.executor;
  if (begun && !options_.executor.empty() && options_.executor != state_.executor) {
    throw Error(ErrorCode::invalid,
                fmt::format("session {} measures {}, not on {}", session_.folder().id,
                            executor.empty() ? "in this process" : "on " + executor, options_.executor),
                "leave --on out to go on with it, or start a new one");
  }
  if (executor.empty()) {
    here_.emplace(project_, store_, artifacts());
    session_.open({.command = options_.command}, here_->against_baseline);
  } else {
    elsewhere_.emplace(project_, store_, session_, repository_, executor);
  }
}

void Loop::open() {
  const int iterations = most_iterations(project_, options_);
  const double target = options_.target.value_or(project_.optimize.target);
  const std::string& id = session_.folder().id;
  record::Loop loop{.base = repository_.snapshot("dent: the tree as it was when session " + id + " began"),
                    .branch = "dent/" + id,
                    .harness = harness_hash(project_),
                    .target_shape = project_.optimize.target_shape,
                    .private_repository = repository_.is_private(),
                    .iterations = iterations,
                    .confirmation_alpha = confirmation_alpha(project_.optimize.false_keep, iterations),
                    .target = target > 0 ? std::optional(target) : std::nullopt,
                    .minutes = options_.minutes,  // the manifest's may be raised before a resume
                    .choice = project_.choice,
                    .executor = elsewhere_ ? elsewhere_->rules().name : "",
                    .parallel = options_.parallel > 1 ? options_.parallel : 0};
  if (elsewhere_) session_.open_elsewhere({.command = options_.command});
  append(std::move(loop));
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
  if (elsewhere_) {
    elsewhere_->lay_out(state_.base);
    elsewhere_->see_through_what_was_left();
    refresh();
    if (state_.parallel > 1) elsewhere_->watch();
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
  candidate_.emplace(repository_, worktrees() / "candidate", state_.incumbent_commit());
  if (elsewhere_) return send_all();
  incumbent_.emplace(repository_, worktrees() / "incumbent", state_.incumbent_commit());
  incumbent_kernel_ = kernel_in(*incumbent_, part(PartKind::standing, "").candidate);
  here_->against_baseline.set_candidate(incumbent_kernel_);
}

LoopPart Loop::part(PartKind kind, std::string name) const {
  return {.kind = kind,
          .name = std::move(name),
          .candidate = kernel_at(state_.incumbent_commit()),
          .baseline = session_.facts().session().baseline};
}

void Loop::measure_incumbent(LoopPart part) {
  if (here_) return perform(part, {incumbent_kernel_}, session_, here_->against_baseline);
  elsewhere_->add_changes(state_.incumbent_commit(), part.candidate);
  elsewhere_->see_through(part, [&](const std::string& why) {
    const bool may_fail = part.kind == PartKind::diagnosis;
    session_.settle({.name = part.name},
                    may_fail ? skipped(why) : failed(Cause::environment, why, "dent jobs"));
  });
}

void Loop::start() {
  LoopPart first = part(PartKind::start, "start");
  first.rebaseline = options_.rebaseline;
  measure_incumbent(std::move(first));
}

}  // namespace dent
