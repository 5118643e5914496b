// SPDX-License-Identifier: MIT
// Before the first iteration: the repository, the gates, and where the kernel stands.
#include <fmt/format.h>

#include "base/error.h"
#include "gates/baseline/baseline.h"
#include "gates/build/build.h"
#include "gates/correctness/correctness.h"
#include "gates/preflight/preflight.h"
#include "session/environment.h"
#include "records/sampling_records.h"
#include "loop/proposers/harness.h"
#include "loop/inside.h"
#include "project/choice.h"
#include "project/manifest.h"
#include "session/version.h"
#include "system/strays.h"

namespace dent {

using nlohmann::json;

Budget Loop::Inside::budget() const {
  Budget budget = project_.budget;
  if (state_.minutes > 0) budget.minutes = state_.minutes;
  if (options_.minutes) budget.minutes = *options_.minutes;
  return budget;
}

void Loop::Inside::begin() {
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
  if (project_.kernel.device == DeviceKind::cuda) {
    peaks_ = gpu_peaks(ledger_.records().front().data.value("device_name", std::string()));
  }
  if (!state_.ended.empty() && !may_go_on()) return;
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

void Loop::Inside::open_session() {
  const Kernel& against = participants_.choose_baseline(true);
  json about{{"dent_version", kDentVersion},
             {"project", project_.name},
             {"operator", project_.op.name},
             {"candidate", project_.kernel.name},
             {"baseline", against.name},
             {"device", name(project_.kernel.device)},
             {"seed", "drawn for each trial; told to nobody before it has ended"},
             {"manifest", effective_config(project_).dump(1)},
             {"plan", json::array()},
             {"command", options_.command.empty() ? "optimize" : options_.command}};
  json environment = environment_snapshot(project_.directory);
  if (environment.contains("cpu")) about["device_name"] = environment["cpu"].value("model", "");
  if (project_.kernel.device == DeviceKind::cuda && environment.contains("gpus") &&
      !environment["gpus"].empty()) {
    about["device_name"] = environment["gpus"][0].value("name", "");
  }
  append("session", std::move(about));
  append("environment", std::move(environment));
  for (const std::string& note : participants_.notes()) append("note", {{"text", note}});
}

void Loop::Inside::open_loop() {
  const Budget limits = budget();
  const int iterations =
      options_.iterations.value_or(limits.iterations > 0 ? limits.iterations : kUsualIterations);
  json record{
      {"base", repository_->snapshot("dent: the tree as it was when session " + session_.id + " began")},
      {"branch", "dent/" + session_.id},
      {"private_repository", repository_->is_private()},
      {"harness", harness_hash(project_)},
      {"iterations", iterations},
      {"confirmation_alpha", confirmation_alpha(project_.optimize.false_keep, iterations)},
      {"choice", to_json(project_.choice)}};
  if (const double target = options_.target.value_or(project_.optimize.target); target > 0)
    record["target"] = target;
  if (!project_.optimize.target_shape.empty()) record["target_shape"] = project_.optimize.target_shape;
  if (options_.minutes)
    record["minutes"] = *options_.minutes;  // the manifest's may be raised before a resume
  append("loop", std::move(record));
}

void Loop::Inside::start_gates() {
  const auto passes = [this](const GateResult& result) {
    if (result.verdict == GateVerdict::fail && stopped_.verdict != GateVerdict::fail) stopped_ = result;
    return stopped_.verdict != GateVerdict::fail;
  };
  if (!passes(steps_.step("preflight", project_.limits.preflight_seconds, [&](const Progress& progress) {
        return PreflightGate(workshop_).run(progress);
      }))) {
    return;
  }
  if (!passes(steps_.step("build", project_.limits.build_seconds, [&](const Progress& progress) {
        return BuildGate(workshop_, false).run(incumbent_kernel_, progress);
      }))) {
    return;
  }
  // Before anything is run that might leave processes behind, and after what it is measured with was built.
  participants_.choose_baseline(true);
  adopt_orphans(true);
  if (!passes(steps_.step(
          "baseline", 10.0 * static_cast<double>(project_.shapes.size()), [&](const Progress& progress) {
            std::string machine = "unknown";
            for (const Record& record : ledger_.records()) {
              if (record.kind == "environment")
                machine = record.data.value("host", "") + " " + record.data.value("machine", "") + " " +
                          record.data.value("cpu", json::object()).value("model", "");
            }
            return BaselineGate(workshop_, store_.folder() / "baselines.json", options_.rebaseline)
                .run(participants_.baseline(), participants_.choose_baseline(true).name, machine,
                     participants_.oracle(), secret_seed(), progress);
          }))) {
    return;
  }
  std::unique_ptr<Worker> worker;
  for (const Problem& problem : workshop_.problems()) {
    if (!passes(steps_.step("correctness/" + problem.shape, project_.correctness.seconds,
                            [&](const Progress& progress) {
                              if (!worker) worker = workshop_.start(incumbent_kernel_, "candidate");
                              return CorrectnessGate(workshop_, participants_.oracle())
                                  .run(*worker, problem, secret_seed(), progress);
                            }))) {
      return;
    }
  }
  worker.reset();
  if (!state_.first) against_baseline("performance", incumbent_kernel_);
  if (stopped_.verdict != GateVerdict::fail) diagnose();
}

std::optional<Standing> Loop::Inside::against_baseline(const std::string& prefix, const Kernel& kernel) {
  Standing standing;
  std::vector<Ratio> ratios;
  std::unique_ptr<Worker> worker;
  for (const Problem& problem : workshop_.problems()) {
    const GateResult measured = steps_.step(
        prefix + "/" + problem.shape, project_.performance.seconds, [&](const Progress& progress) {
          if (!worker) worker = workshop_.start(kernel, "candidate");
          return measure_against(stage(), *worker, participants_.baseline(), problem,
                                 project_.performance.alpha, progress);
        });
    const auto gain = gain_of(measured);
    if (measured.verdict == GateVerdict::fail || !gain) {
      if (measured.verdict == GateVerdict::fail) participants_.dismiss();
      stopped_ = measured.verdict == GateVerdict::fail
                     ? measured
                     : failed(Cause::ambiguous, problem.shape + ": too few samples for an interval",
                              "raise performance.seconds in dent.toml");
      return std::nullopt;
    }
    standing.shapes.push_back(*gain);
    ratios.push_back(gain->ratio);
  }
  standing.ratio = geometric_mean(ratios);
  json shapes = json::array();
  for (const ShapeGain& gain : standing.shapes) {
    shapes.push_back({{"shape", gain.shape},
                      {"ratio", ratio_record(gain.ratio)},
                      {"baseline_ns", gain.incumbent_ns},
                      {"candidate_ns", gain.candidate_ns}});
  }
  append("standing",
         {{"step", prefix}, {"ratio", ratio_record(standing.ratio)}, {"shapes", std::move(shapes)}});
  return standing;
}

}  // namespace dent
