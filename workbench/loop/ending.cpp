// SPDX-License-Identifier: MIT
// The end: the winner again, from a clean checkout, with fresh seeds, on shapes that no proposer has seen.
#include <fmt/format.h>

#include <algorithm>

#include "evaluation/held_out.h"
#include "gates/build/build.h"
#include "gates/correctness/correctness.h"
#include "gates/performance/performance.h"
#include "gates/sanitize/sanitize.h"
#include "loop/loop.h"
#include "report/write_reports.h"
#include "system/durable_file.h"
#include "system/strays.h"

namespace dent {
namespace {

GateResult held_out(GateResult result) {
  for (AnyRecord& any : result.records) {
    if (auto* correctness = std::get_if<record::Correctness>(&any)) correctness->held_out = true;
  }
  return result;
}

// Builds of this session, of candidates that are gone.
void remove_builds(const std::filesystem::path& dent_folder, const std::string& session) {
  std::error_code ignored;
  for (const char* folder : {"build", "sanitized"}) {
    std::vector<std::filesystem::path> ours;
    for (const auto& entry : std::filesystem::directory_iterator(dent_folder / folder, ignored)) {
      if (entry.path().filename().string().rfind(session, 0) == 0) ours.push_back(entry.path());
    }
    for (const auto& entry : ours) std::filesystem::remove_all(entry, ignored);
  }
}

}  // namespace

SessionEnd Loop::finish(const LoopOver& why) {
  workshop_.log_into(session_.artifacts());
  if (why.ending && !has_ended() && !stopped_) {
    append(record::LoopEnd{
        .ending = *why.ending, .reason = why.reason, .held_out = held_out_shapes(project_, secret_seed())});
  }
  candidate_.reset();
  incumbent_.reset();
  if (!stopped_ && state_.last_kept() != nullptr) {
    write_durably(session_.artifacts() / "winner.patch",
                  repository_->difference(state_.base, state_.incumbent_commit()));
    validate();
  }
  remove_builds(store_.folder(), session_.id);
  const SessionEnd end = verdict();
  repository_->remove_worktrees(worktrees());
  return end;
}

bool Loop::validate() {
  const Worktree clean(*repository_, worktrees() / "winner", state_.incumbent_commit());
  const Worktree before(*repository_, worktrees() / "start", state_.base);
  const std::string prefix = fmt::format("winner/{:03}", state_.last_kept()->number);
  const Kernel winner = kernel_in(clean, state_.incumbent(), "winner");
  const Kernel start = kernel_in(before, state_.start, "start");
  adopt_orphans(false);
  if (!require(
          steps_.perform({.name = prefix + "/build", .time_box_s = project_.limits.build_seconds},
                         [&](const Progress& p) { return BuildGate(workshop_, true).run(winner, p); }))) {
    return false;
  }
  workshop_.build(start);
  adopt_orphans(true);
  std::unique_ptr<Worker> worker;
  for (const Problem& problem : workshop_.problems()) {
    if (!require(steps_.perform(
            {.name = prefix + "/correctness/" + problem.shape, .time_box_s = project_.correctness.seconds},
            [&](const Progress& p) {
              if (!worker) worker = workshop_.start(winner, Role::candidate);
              return CorrectnessGate(workshop_, participants_.oracle())
                  .run(*worker, problem, secret_seed(), p);
            }))) {
      return false;
    }
  }
  worker.reset();
  if (!require(steps_.perform(
          {.name = prefix + "/sanitize", .time_box_s = project_.limits.sanitize_seconds},
          [&](const Progress& p) { return SanitizeGate(workshop_).run(winner, secret_seed(), p); }))) {
    return false;
  }
  if (!validate_held_out(prefix, winner, start)) return false;
  std::vector<ShapeGain> gains;
  std::unique_ptr<Worker> old;
  for (const Problem& problem : workshop_.problems()) {
    const GateResult measured = steps_.perform(
        {.name = prefix + "/gain/" + problem.shape, .time_box_s = project_.performance.seconds},
        [&](const Progress& p) {
          if (!worker) worker = workshop_.start(winner, Role::candidate);
          if (!old) old = workshop_.start(start, Role::incumbent);
          return measure_against(context(), *worker, *old, Against::start, problem,
                                 project_.performance.alpha, p);
        });
    if (!require(measured)) return false;
    if (const auto gain = gain_of(measured)) gains.push_back(*gain);
  }
  worker.reset();
  old.reset();
  const Judgement judgement = judge_gains(gains, {0, project_.optimize.shape_loss});
  if (!judgement.faster) {
    const bool slower = judgement.mean && judgement.mean->interval.high < 1;
    return require(failed(slower ? Cause::regressed : Cause::ambiguous,
                          "the winner, built again, does not hold against the start: " + judgement.reason,
                          "its iterations are in the report; the machine may have been too busy to tell"));
  }
  return against_baseline(StandingOf::winner, prefix + "/performance", winner);
}

bool Loop::validate_held_out(const std::string& prefix, const Kernel& winner, const Kernel& start) {
  Project unseen = project_;
  unseen.shapes = state_.ended->held_out;
  if (unseen.shapes.empty()) return true;
  Workshop workshop(unseen, workshop_.resources(), store_.folder(), session_.artifacts());
  Oracle oracle(workshop);
  const EvaluationContext unseen_context{workshop, oracle, peaks_};
  workshop.build(winner);
  workshop.build(start);
  std::unique_ptr<Worker> worker, old;
  for (const Problem& problem : workshop.problems()) {
    if (!require(steps_.perform(
            {.name = prefix + "/held-out/correctness/" + problem.shape,
             .time_box_s = project_.correctness.seconds},
            [&](const Progress& p) {
              if (!worker) worker = workshop.start(winner, Role::candidate);
              return held_out(CorrectnessGate(workshop, oracle).run(*worker, problem, secret_seed(), p));
            }))) {
      return false;
    }
  }
  for (const Problem& problem : workshop.problems()) {
    const GateResult measured = steps_.perform(
        {.name = prefix + "/held-out/gain/" + problem.shape, .time_box_s = project_.performance.seconds},
        [&](const Progress& p) {
          if (!worker) worker = workshop.start(winner, Role::candidate);
          if (!old) old = workshop.start(start, Role::incumbent);
          return measure_against(unseen_context, *worker, *old, Against::start, problem,
                                 project_.performance.alpha, p);
        });
    if (!require(measured)) return false;
    const auto gain = gain_of(measured);
    if (gain && loses_too_much(*gain, {0, project_.optimize.shape_loss})) {
      return require(
          failed(Cause::regressed,
                 fmt::format("on the held-out shape {} the winner is slower than the start: {:.3f}x",
                             problem.shape, gain->ratio.centre),
                 "it fits the shapes of the manifest and no others: add that shape to dent.toml"));
    }
  }
  return true;
}

// Uncommitted work that the loop started from is in its branch: git would not merge that over itself.
std::string Loop::how_to_take_it_over() const {
  const bool mergeable = !repository_->is_private() &&
                         repository_->try_git({"merge-base", "--is-ancestor", state_.base, "HEAD"}).ok();
  return (repository_->is_private() ? "" : fmt::format("look at it: git log -p {}; ", state_.branch)) +
         "take it over: git " +
         (mergeable ? "merge " + state_.branch
                    : fmt::format("apply .dent/sessions/{}/artifacts/winner.patch", session_.id));
}

SessionEnd Loop::conclusion() {
  const auto end = [this](Verdict verdict, std::string reason, std::string next) {
    return SessionEnd{session_.id, verdict, std::move(reason), std::move(next), exit_code(verdict)};
  };
  if (stopped_) return end(verdict_of(stopped_->cause), stopped_->reason, stopped_->next);

  const LoopEnding ending = state_.ended->ending;
  const bool missed = state_.target > 0 && state_.towards_target() < state_.target;
  const bool kept = state_.last_kept() != nullptr;
  const auto keeps =
      std::count_if(state_.iterations.begin(), state_.iterations.end(),
                    [](const Iteration& iteration) { return iteration.outcome && iteration.outcome->kept; });
  std::string reason = fmt::format(
      "{:.3g}x of {} to {:.3g}x; {} of {} changes kept; {}", state_.first ? state_.first->ratio.centre : 0,
      participants_.choose_baseline(false).name, state_.speedup(), keeps, state_.done(),
      missed && ending == LoopEnding::target_reached
          ? "it was when the last change was kept, and is not with the winner built again"
          : state_.ended->reason);
  if (state_.target > 0 && !state_.target_shape.empty()) {
    reason += fmt::format("; {:.3g}x{}", state_.towards_target(), where_the_target_counts(state_));
  }
  const std::string next = kept ? how_to_take_it_over() : "";
  if (!missed) return end(kept ? Verdict::faster : Verdict::same, std::move(reason), next);
  const bool ran_out = ending == LoopEnding::budget_spent || ending == LoopEnding::iterations;
  return end(
      ran_out ? Verdict::budget : Verdict::missed,
      fmt::format("target {}x{} not reached: {}", state_.target, where_the_target_counts(state_), reason),
      next);
}

SessionEnd Loop::verdict() {
  SessionEnd end = conclusion();
  if (ledger_.records().back().as<record::Verdict>() == nullptr) {
    append(record::Verdict{.verdict = end.verdict,
                           .reason = end.reason,
                           .next = end.next,
                           .exit_code = static_cast<int>(end.code),
                           .elapsed_s = cost().wall_s});
  }
  write_reports(store_, session_);
  return end;
}

}  // namespace dent
