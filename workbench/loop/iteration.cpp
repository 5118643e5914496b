// SPDX-License-Identifier: MIT
// One iteration: the hypothesis on record, one change in a worktree, the gates, and a commit or none.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "accounting/budget.h"
#include "base/error.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "gates/profile/profile.h"
#include "loop/loop.h"
#include "loop/proposers/harness.h"
#include "loop/proposers/proposal.h"
#include "project/choice.h"
#include "system/durable_file.h"

namespace dent {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kDiagnosisSeconds = 120;

std::string what_is_tried(const Proposal& proposal) {
  if (proposal.assignment) return proposal.assignment->tunable + "=" + proposal.assignment->value;
  if (proposal.variant) return "variant " + *proposal.variant;
  return proposal.hypothesis.change.substr(0, proposal.hypothesis.change.find('\n'));
}

// Where the diagnosis points; without one the order of attack holds from its beginning.
Phase phase_of(const Diagnosis& finding) {
  if (finding.phase.empty() || finding.refused()) return Phase::parallelism;
  return parse_phase(finding.phase);
}

std::string commit_message(const Iteration& iteration, const Outcome& outcome) {
  const Hypothesis& why = iteration.proposal.hypothesis;
  return fmt::format(
      "{}: {}\n\nBottleneck: {}\nChange: {}\nExpected: {}\nMeasured over the incumbent: {}\n"
      "dent optimize, iteration {}, proposed by {}",
      what_is_tried(iteration.proposal), outcome.reason, why.bottleneck, why.change, why.expected,
      outcome.reason, iteration.number, iteration.proposal.proposer);
}

}  // namespace

std::filesystem::path Loop::patch_file(int iteration) const {
  return session_.artifacts() / "patches" / fmt::format("{:03}.patch", iteration);
}

Brief Loop::brief() {
  Brief brief;
  brief.project = &project_;
  brief.iteration = static_cast<int>(state_.iterations.size()) + 1;
  brief.target = state_.target;
  brief.speedup = state_.speedup();
  brief.goal = fmt::format(
      "make {} faster than {}{}, one change at a time, without changing what it computes", project_.op.name,
      participants_.choose_baseline(false).name,
      state_.target > 0 ? fmt::format(" by {}x{}", state_.target, where_the_target_counts(state_)) : "");
  brief.left = left_of(budget(), cost(), project_.rates);
  brief.left.iterations = state_.most_iterations - state_.done();
  brief.incumbent = state_.incumbent();
  brief.first = state_.start;
  brief.shapes = state_.shapes(project_.shapes);
  for (const Iteration& iteration : state_.iterations) {
    if (iteration.outcome) {
      brief.history.push_back({iteration.number, iteration.proposal, *iteration.outcome, iteration.choice});
    }
  }
  brief.diagnosis = state_.diagnosis;
  if (brief.diagnosis) brief.phase = phase_of(brief.diagnosis->finding);
  brief.allowed_files = allowed_files(project_);
  brief.protected_files = protected_files(project_);
  brief.patch_lines = project_.optimize.patch_lines;
  if (candidate_) {
    candidate_->reset(state_.incumbent_commit());
    brief.worktree = candidate_->project();
  }
  return brief;
}

void Loop::open_iteration(const Proposal& proposal) {
  if (unfinished()) return;
  const int number = static_cast<int>(state_.iterations.size()) + 1;
  std::filesystem::create_directories(session_.artifacts() / "patches");
  if (proposal.source) write_durably(patch_file(number), proposal.source->patch);
  append(record::Iteration{.iteration = number,
                           .proposal = proposal,
                           .choice = applied(proposal, state_.incumbent()),
                           .parent = state_.incumbent_commit(),
                           .patch = fmt::format("patches/{:03}.patch", number)});
}

Outcome Loop::evaluate(const Proposal& proposal) {
  if (harness_hash(project_) != state_.harness) {
    throw Error(ErrorCode::environment,
                fmt::format("the files that judge have changed since the loop began ({})",
                            fmt::join(protected_files(project_), ", ")),
                "put them back and go on: dent optimize --resume; or start a new loop");
  }
  const auto start = Clock::now();
  open_iteration(proposal);
  const Iteration iteration = state_.iterations.back();
  const Step step{
      .name = fmt::format("{} {}", iteration.proposal.proposer, what_is_tried(iteration.proposal)),
      .time_box_s = static_cast<double>(project_.shapes.size()) *
                    (project_.correctness.seconds + 4 * project_.performance.seconds)};
  steps_.begin(step);
  std::string tree;
  const Outcome outcome = attempt(iteration, tree);
  const double elapsed = seconds_since(start);
  conclude(iteration, outcome, tree, elapsed);
  const GateResult shown =
      outcome.kept ? passed("kept: " + outcome.reason)
                   : skipped(fmt::format("dropped at {}: {}", name(outcome.stage), outcome.reason));
  steps_.end(step, shown, elapsed);
  if (outcome.kept) check_target();
  warn_of_budget();
  if (outcome.kept && !over()) diagnose();
  return outcome;
}

Outcome Loop::attempt(const Iteration& iteration, std::string& tree) {
  const auto refused = [](std::string why) {
    Outcome outcome;
    outcome.stage = TrialStage::refused;
    outcome.reason = std::move(why);
    return outcome;
  };
  Proposal proposal = iteration.proposal;
  const auto patch = patch_file(iteration.number);
  if (proposal.source) proposal.source->patch = text_of(patch);
  if (const std::string wrong = what_is_wrong(proposal, project_, state_.incumbent()); !wrong.empty())
    return refused(wrong);
  candidate_->reset(iteration.parent);
  if (proposal.source) {
    if (const std::string why = candidate_->apply(patch); !why.empty())
      return refused("the patch does not apply: " + why);
  } else {
    std::ofstream(candidate_->project() / kTunedName) << tuned_text(iteration.choice);
  }
  const Worktree::Change change = candidate_->change();
  tree = change.tree;
  if (proposal.source) {
    if (const std::string why = refusal(change, proposal.source->files, project_); !why.empty())
      return refused(why);
  } else {
    write_durably(patch, change.patch);
  }
  workshop_.log_into(session_.artifacts() / "logs" / fmt::format("{:03}", iteration.number));
  std::filesystem::create_directories(workshop_.logs());
  const EvaluationRules rules{.keep = {project_.optimize.min_gain, project_.optimize.shape_loss},
                              .screening_alpha = project_.performance.alpha,
                              .confirmation_alpha = state_.confirmation_alpha,
                              .sanitize = project_.optimize.sanitize_every > 0 &&
                                          iteration.number % project_.optimize.sanitize_every == 0};
  const std::string number = fmt::format("{:03}", iteration.number);
  const auto perform = [&](const std::string& trial, const std::function<GateResult()>& gate) {
    return steps_.trial(number + "/" + trial, gate);
  };
  return dent::evaluate(context(), kernel_in(*candidate_, iteration.choice, number), incumbent_kernel_, rules,
                        perform, steps_.progress());
}

void Loop::conclude(const Iteration& iteration, const Outcome& outcome, const std::string& tree,
                    double elapsed_s) {
  record::Outcome ended{.iteration = iteration.number,
                        .outcome = outcome,
                        .overhead_s = std::max(0.0, elapsed_s - outcome.build_s - outcome.kernel_s)};
  ended.outcome.elapsed_s = elapsed_s;
  if (outcome.kept) {
    ended.commit =
        repository_->commit(tree, iteration.parent, commit_message(iteration, outcome), iteration.time);
  }
  const std::string commit = ended.commit;
  append(std::move(ended));
  book_pattern(iteration, outcome);
  if (outcome.kept) {
    keep(iteration, commit);
  } else {
    std::error_code ignored;
    for (const char* folder : {"build", "sanitized"}) {
      std::filesystem::remove_all(
          store_.folder() / folder / fmt::format("{}-{:03}", session_.id, iteration.number), ignored);
    }
  }
}

void Loop::keep(const Iteration& iteration, const std::string& commit) {
  repository_->move_branch(state_.branch, iteration.parent, commit);
  incumbent_->reset(commit);
  incumbent_kernel_ = kernel_in(*incumbent_, state_.incumbent(), fmt::format("{:03}", iteration.number));
}

// The shape that stands worst against the baseline shows what holds the kernel back.
void Loop::diagnose() {
  std::size_t worst = workshop_.problems().size() - 1;
  double least = 0;
  const auto shapes = state_.shapes(project_.shapes);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const double ratio = shapes[i].incumbent_ns > 0 ? shapes[i].baseline_ns / shapes[i].incumbent_ns : 0;
    if (ratio > 0 && (least == 0 || ratio < least)) {
      least = ratio;
      worst = i;
    }
  }
  const Iteration* kept = state_.last_kept();
  const std::string step = fmt::format("diagnosis/{:03}", kept != nullptr ? kept->number : 0);
  workshop_.log_into(session_.artifacts());
  steps_.perform({.name = step, .time_box_s = kDiagnosisSeconds}, [&](const Progress& progress) {
    try {
      return ProfileGate(workshop_, store_, session_.artifacts())
          .run(incumbent_kernel_, workshop_.problems()[worst], secret_seed(), progress);
    } catch (const KernelFailed& problem) {
      return skipped(std::string("no diagnosis: ") + problem.what());
    } catch (const Error& problem) {
      return skipped(std::string("no diagnosis: ") + problem.what());
    }
  });
  state_ = state_of(ledger_.records());
}

// What became of it where it was tried, for the library of patterns.
void Loop::book_pattern(const Iteration& iteration, const Outcome& outcome) {
  if (iteration.proposal.pattern.empty()) return;
  append(record::PatternTried{.pattern = iteration.proposal.pattern,
                              .bottleneck = state_.diagnosis ? state_.diagnosis->finding.bottleneck : "",
                              .outcome = outcome.kept             ? Tried::kept
                                         : outcome.shapes.empty() ? Tried::failed
                                                                  : Tried::dropped,
                              .gain = outcome.gain ? std::optional(outcome.gain->centre) : std::nullopt});
}

// The product of many gains may say that the target is reached; only a measurement says that it is.
void Loop::check_target() {
  if (!(state_.target > 0) || state_.towards_target() < state_.target) return;
  workshop_.log_into(session_.artifacts());
  against_baseline(StandingOf::incumbent, fmt::format("standing/{:03}", state_.iterations.back().number),
                   incumbent_kernel_);
}

void Loop::warn_of_budget() {
  Budget limits = budget();
  limits.iterations = state_.most_iterations;
  const auto most = most_spent(limits, cost(), project_.rates);
  if (!most) return;
  for (const double mark : {0.8, 0.5}) {
    if (most->share < mark) continue;
    const bool warned = std::any_of(
        state_.warned.begin(), state_.warned.end(),
        [&](const record::BudgetMark& old) { return old.part == most->part && old.mark == mark; });
    if (warned) return;
    append(record::BudgetMark{.part = most->part, .mark = mark, .share = most->share});
    steps_.say(fmt::format("{:.0f} % of the budget's {} are spent", 100 * most->share, name(most->part)));
    return;
  }
}

}  // namespace dent
