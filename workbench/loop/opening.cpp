// SPDX-License-Identifier: MIT
// Before the first iteration: the repository, the gates, and where the kernel stands.
#include <fmt/format.h>

#include "base/error.h"
#include "gates/baseline/baseline.h"
#include "gates/build/build.h"
#include "gates/correctness/correctness.h"
#include "gates/preflight/preflight.h"
#include "loop/loop.h"
#include "loop/proposers/harness.h"
#include "project/choice.h"
#include "project/manifest.h"
#include "session/environment.h"
#include "session/version.h"
#include "system/strays.h"

namespace dent {

Budget Loop::budget() const {
  Budget budget = project_.budget;
  if (state_.minutes > 0) budget.minutes = state_.minutes;
  if (options_.minutes) budget.minutes = *options_.minutes;
  return budget;
}

void Loop::begin() {
  repository_.emplace(project_.directory, store_.folder());
  repository_->remove_worktrees(worktrees());  // those of a loop that was killed
  if (ledger_.records().empty()) open_session();
  if (!state_.opened) open_loop();
  if (!repository_->has(state_.base) || !repository_->has(state_.incumbent_commit())) {
    throw Error(ErrorCode::environment,
                "the commits of session " + session_.id + " are gone from the repository",
                "its patches are in .dent/sessions/" + session_.id +
                    "/artifacts/patches; start a new loop: dent optimize");
  }
  if (const Iteration* kept = state_.last_kept()) {
    repository_->move_branch(state_.branch, kept->parent, kept->commit);
  } else {
    repository_->move_branch(state_.branch, std::nullopt, state_.base);
  }
  if (project_.kernel.device == DeviceKind::cuda) peaks_ = gpu_peaks(steps_.facts().session().device_name);
  if (has_ended()) return;
  const double each_s = static_cast<double>(project_.shapes.size()) *
                        (project_.correctness.seconds + 4 * project_.performance.seconds);
  steps_.say(fmt::format("{} changes at most{}, up to {:.0f} s each and its build; kept ones go to {}{}",
                         state_.most_iterations - state_.done(),
                         state_.target > 0 ? fmt::format(" until {}x of the baseline{}", state_.target,
                                                         where_the_target_counts(state_))
                                           : "",
                         each_s, state_.branch, repository_->is_private() ? " in .dent/repository" : ""));
  incumbent_.emplace(*repository_, worktrees() / "incumbent", state_.incumbent_commit());
  candidate_.emplace(*repository_, worktrees() / "candidate", state_.incumbent_commit());
  const Iteration* kept = state_.last_kept();
  incumbent_kernel_ = kernel_in(*incumbent_, state_.incumbent(),
                                kept != nullptr ? fmt::format("{:03}", kept->number) : "start");
  start_gates();
}

void Loop::open_session() {
  const record::Environment environment = environment_snapshot(project_.directory);
  const bool gpu = project_.kernel.device == DeviceKind::cuda && !environment.gpus.empty();
  append(record::Session{.dent_version = kDentVersion,
                         .project = project_.name,
                         .op = project_.op.name,
                         .candidate = project_.kernel.name,
                         .baseline = participants_.choose_baseline(true).name,
                         .device_name = gpu ? environment.gpus.front().name : environment.cpu.model,
                         .manifest = effective_config(project_),
                         .command = options_.command.empty() ? "optimize" : options_.command,
                         .device = project_.kernel.device,
                         .plan = {},
                         .gates = {},
                         .shapes = {}});
  append(environment);
  for (const std::string& note : participants_.notes()) append(record::Note{note});
}

void Loop::open_loop() {
  const int iterations = most_iterations(project_, options_);
  const double target = options_.target.value_or(project_.optimize.target);
  append(record::Loop{
      .base = repository_->snapshot("dent: the tree as it was when session " + session_.id + " began"),
      .branch = "dent/" + session_.id,
      .harness = harness_hash(project_),
      .target_shape = project_.optimize.target_shape,
      .private_repository = repository_->is_private(),
      .iterations = iterations,
      .confirmation_alpha = confirmation_alpha(project_.optimize.false_keep, iterations),
      .target = target > 0 ? std::optional(target) : std::nullopt,
      .minutes = options_.minutes,  // the manifest's may be raised before a resume
      .choice = project_.choice});
}

void Loop::start_gates() {
  if (!require(
          steps_.perform({.name = "preflight", .time_box_s = project_.limits.preflight_seconds},
                         [&](const Progress& progress) { return PreflightGate(workshop_).run(progress); })))
    return;
  if (!require(steps_.perform({.name = "build", .time_box_s = project_.limits.build_seconds},
                              [&](const Progress& progress) {
                                return BuildGate(workshop_, false).run(incumbent_kernel_, progress);
                              })))
    return;
  // Before anything is run that might leave processes behind, and after what it is measured with was built.
  const Kernel& against = participants_.choose_baseline(true);
  adopt_orphans(true);
  const double baseline_s = 10.0 * static_cast<double>(project_.shapes.size());
  if (!require(steps_.perform({.name = "baseline", .time_box_s = baseline_s}, [&](const Progress& progress) {
        return BaselineGate(workshop_, store_.folder() / "baselines.json", options_.rebaseline)
            .run(participants_.baseline(), against.name, steps_.facts().machine_name(),
                 participants_.oracle(), secret_seed(), progress);
      })))
    return;
  std::unique_ptr<Worker> worker;
  for (const Problem& problem : workshop_.problems()) {
    if (!require(steps_.perform(
            {.name = "correctness/" + problem.shape, .time_box_s = project_.correctness.seconds},
            [&](const Progress& progress) {
              if (!worker) worker = workshop_.start(incumbent_kernel_, Role::candidate);
              return CorrectnessGate(workshop_, participants_.oracle())
                  .run(*worker, problem, secret_seed(), progress);
            })))
      return;
  }
  worker.reset();
  if (!state_.first && !against_baseline(StandingOf::start, "performance", incumbent_kernel_)) return;
  diagnose();
}

bool Loop::against_baseline(StandingOf whose, const std::string& prefix, const Kernel& kernel) {
  record::Standing standing{.of = whose, .step = prefix, .ratio = {}, .shapes = {}};
  std::vector<Ratio> ratios;
  std::unique_ptr<Worker> worker;
  for (const Problem& problem : workshop_.problems()) {
    const GateResult measured = steps_.perform(
        {.name = prefix + "/" + problem.shape, .time_box_s = project_.performance.seconds},
        [&](const Progress& progress) {
          if (!worker) worker = workshop_.start(kernel, Role::candidate);
          return measure_against(context(), *worker, participants_.baseline(), Against::baseline, problem,
                                 project_.performance.alpha, progress);
        });
    if (!require(measured)) {
      participants_.dismiss();
      return false;
    }
    const auto gain = gain_of(measured);
    if (!gain) {
      return require(failed(Cause::ambiguous, problem.shape + ": too few samples for an interval",
                            "raise performance.seconds in dent.toml"));
    }
    standing.shapes.push_back(*gain);
    ratios.push_back(gain->ratio);
  }
  standing.ratio = geometric_mean(ratios);
  append(std::move(standing));
  return true;
}

}  // namespace dent
