// SPDX-License-Identifier: MIT
// The end: the winner again, from a clean checkout, with fresh seeds, on shapes that no proposer has seen.
#include <fmt/format.h>

#include "base/error.h"
#include "gates/build/build.h"
#include "gates/correctness/correctness.h"
#include "gates/performance/performance.h"
#include "gates/sanitize/sanitize.h"
#include "system/durable_file.h"
#include "records/sampling_records.h"
#include "evaluation/held_out.h"
#include "loop/inside.h"
#include "project/choice.h"
#include "report/write_reports.h"
#include "system/strays.h"

namespace dent {
namespace {

using nlohmann::json;

// Records of the winner against the start are no comparison with the baseline: they get kinds of their own.
GateResult renamed(GateResult result, const std::string& prefix) {
  for (auto& [kind, data] : result.records) {
    if (kind != "cheat") kind = prefix + kind;
  }
  return result;
}

std::optional<ShapeGain> gain_in(GateResult result) {
  for (auto& [kind, data] : result.records) {
    if (kind == "gain_comparison") kind = "comparison";
  }
  return gain_of(result);
}

}  // namespace

SessionEnd Loop::Inside::finish(const std::string& why) {
  workshop_.log_into(session_.artifacts());
  if ((state_.ended.empty() || may_go_on()) && stopped_.verdict != GateVerdict::fail) {
    json shapes = json::array();
    for (const Shape& shape : held_out_shapes(project_, secret_seed())) {
      shapes.push_back({{"name", shape.name}, {"sizes", shape.sizes}});
    }
    append("loop_end", {{"reason", why}, {"held_out", std::move(shapes)}});
  }
  candidate_.reset();
  incumbent_.reset();
  if (stopped_.verdict != GateVerdict::fail && state_.last_kept() != nullptr) {
    write_durably(session_.artifacts() / "winner.patch",
                  repository_->difference(state_.base, state_.incumbent_commit()));
    validate();
  }
  std::error_code ignored;
  for (const char* folder : {"build", "sanitized"}) {
    std::vector<std::filesystem::path> ours;
    for (const auto& entry : std::filesystem::directory_iterator(store_.folder() / folder, ignored)) {
      if (entry.path().filename().string().rfind(session_.id, 0) == 0) ours.push_back(entry.path());
    }
    for (const auto& entry : ours) std::filesystem::remove_all(entry, ignored);
  }
  const SessionEnd end = verdict();
  repository_->remove_worktrees(worktrees());
  return end;
}

bool Loop::Inside::require(const GateResult& result) {
  if (result.verdict == GateVerdict::fail) stopped_ = result;
  return result.verdict != GateVerdict::fail;
}

bool Loop::Inside::validate() {
  const Worktree clean(*repository_, worktrees() / "winner", state_.incumbent_commit());
  const Worktree before(*repository_, worktrees() / "start", state_.base);
  const std::string prefix = fmt::format("{}/{:03}", kWinner, state_.last_kept()->number);
  const Kernel winner = kernel_in(clean, state_.incumbent(), "winner");
  const Kernel start = kernel_in(before, state_.start, "start");
  adopt_orphans(false);
  if (!require(steps_.step(prefix + "/build", project_.limits.build_seconds,
                           [&](const Progress& p) { return BuildGate(workshop_, true).run(winner, p); }))) {
    return false;
  }
  workshop_.build(start);
  adopt_orphans(true);
  std::unique_ptr<Worker> worker;
  for (const Problem& problem : workshop_.problems()) {
    if (!require(steps_.step(prefix + "/correctness/" + problem.shape, project_.correctness.seconds,
                             [&](const Progress& p) {
                               if (!worker) worker = workshop_.start(winner, "candidate");
                               return CorrectnessGate(workshop_, participants_.oracle())
                                   .run(*worker, problem, secret_seed(), p);
                             }))) {
      return false;
    }
  }
  worker.reset();
  if (!require(steps_.step(prefix + "/sanitize", project_.limits.sanitize_seconds, [&](const Progress& p) {
        return SanitizeGate(workshop_).run(winner, secret_seed(), p);
      }))) {
    return false;
  }
  if (!validate_held_out(prefix, winner, start)) return false;
  std::vector<ShapeGain> gains;
  std::unique_ptr<Worker> old;
  for (const Problem& problem : workshop_.problems()) {
    const GateResult measured =
        steps_.step(prefix + "/gain/" + problem.shape, project_.performance.seconds, [&](const Progress& p) {
          if (!worker) worker = workshop_.start(winner, "candidate");
          if (!old) old = workshop_.start(start, "incumbent");
          return renamed(measure_against(stage(), *worker, *old, problem, project_.performance.alpha, p),
                         "gain_");
        });
    if (!require(measured)) return false;
    if (const auto gain = gain_in(measured)) gains.push_back(*gain);
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
  return against_baseline(prefix + "/performance", winner).has_value();
}

bool Loop::Inside::validate_held_out(const std::string& prefix, const Kernel& winner, const Kernel& start) {
  Project unseen = project_;
  unseen.shapes.clear();
  for (const Record& record : ledger_.records()) {
    if (record.kind != "loop_end") continue;
    for (const json& shape : record.data.at("held_out")) {
      unseen.shapes.push_back({shape.at("name"), shape.at("sizes").get<Numbers>()});
    }
  }
  if (unseen.shapes.empty()) return true;
  Workshop workshop(unseen, workshop_.resources(), store_.folder(), session_.artifacts());
  Oracle oracle(workshop);
  const Stage stage{workshop, oracle, peaks_};
  workshop.build(winner);
  workshop.build(start);
  std::unique_ptr<Worker> worker, old;
  for (const Problem& problem : workshop.problems()) {
    if (!require(steps_.step(prefix + "/held-out/correctness/" + problem.shape, project_.correctness.seconds,
                             [&](const Progress& p) {
                               if (!worker) worker = workshop.start(winner, "candidate");
                               return renamed(
                                   CorrectnessGate(workshop, oracle).run(*worker, problem, secret_seed(), p),
                                   "held_out_");
                             }))) {
      return false;
    }
  }
  std::vector<ShapeGain> gains;
  for (const Problem& problem : workshop.problems()) {
    const GateResult measured = steps_.step(
        prefix + "/held-out/gain/" + problem.shape, project_.performance.seconds, [&](const Progress& p) {
          if (!worker) worker = workshop.start(winner, "candidate");
          if (!old) old = workshop.start(start, "incumbent");
          return renamed(measure_against(stage, *worker, *old, problem, project_.performance.alpha, p),
                         "gain_");
        });
    if (!require(measured)) return false;
    const auto gain = gain_in(measured);
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

SessionEnd Loop::Inside::verdict() {
  SessionEnd end{session_.id, "", "", "", ExitCode::ok};
  const Iteration* kept = state_.last_kept();
  int keeps = 0;
  for (const Iteration& iteration : state_.iterations)
    keeps += iteration.outcome && iteration.outcome->kept ? 1 : 0;
  const double from = state_.first ? state_.first->ratio.centre : 0, now = state_.speedup();
  if (stopped_.verdict == GateVerdict::fail) {
    end.verdict = stopped_.cause == Cause::regressed ? "SLOWER" : std::string(verdict_name(stopped_.cause));
    end.reason = stopped_.reason;
    end.next = stopped_.next;
    end.code = exit_code(stopped_.cause);
  } else {
    const bool missed = state_.target > 0 && state_.towards_target() < state_.target;
    const std::string why =
        missed && state_.ended == kTargetReached
            ? "it was when the last change was kept, and is not with the winner built again"
            : state_.ended;
    end.reason = fmt::format("{:.3g}x of {} to {:.3g}x; {} of {} changes kept; {}", from,
                             participants_.choose_baseline(false).name, now, keeps, state_.done(), why);
    if (state_.target > 0 && !state_.target_shape.empty()) {
      end.reason += fmt::format("; {:.3g}x{}", state_.towards_target(), where_the_target_counts(state_));
    }
    end.verdict = missed ? "MISSED" : kept != nullptr ? "FASTER" : "SAME";
    if (missed) {
      const bool budget = state_.ended.find("budget") != std::string::npos ||
                          state_.ended.find("iterations") != std::string::npos;
      end.verdict = budget ? "BUDGET" : "MISSED";
      end.code = budget ? ExitCode::budget : ExitCode::missed;
      end.reason = fmt::format("target {}x{} not reached: {}", state_.target, where_the_target_counts(state_),
                               end.reason);
    }
    if (kept != nullptr) {
      // Uncommitted work that the loop started from is in its branch: git would not merge that over itself.
      const bool mergeable = !repository_->is_private() &&
                             repository_->try_git({"merge-base", "--is-ancestor", state_.base, "HEAD"}).ok();
      end.next =
          (repository_->is_private() ? "" : fmt::format("look at it: git log -p {}; ", state_.branch)) +
          "take it over: git " +
          (mergeable ? "merge " + state_.branch
                     : fmt::format("apply .dent/sessions/{}/artifacts/winner.patch", session_.id));
    }
  }
  if (ledger_.records().back().kind != "verdict") {
    json record{{"verdict", end.verdict},
                {"reason", end.reason},
                {"exit_code", static_cast<int>(end.code)},
                {"elapsed_s", cost().wall_s}};
    if (!end.next.empty()) record["next"] = end.next;
    append("verdict", std::move(record));
  }
  write_reports(store_, session_);
  return end;
}

}  // namespace dent
