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
#include "loop/loop.h"
#include "loop/proposers/harness.h"
#include "loop/proposers/proposal.h"
#include "project/choice.h"
#include "system/durable_file.h"

namespace dent {
namespace {

using Clock = std::chrono::steady_clock;

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

// Name of the folder.
std::string changes_of(int iteration, bool again) {
  return fmt::format("{:03}{}", iteration, again ? "-again" : "");
}

}  // namespace

std::filesystem::path Loop::patch_file(int iteration) const {
  return artifacts() / "patches" / fmt::format("{:03}.patch", iteration);
}

Brief Loop::brief() {
  Brief brief;
  brief.project = &project_;
  brief.iteration = static_cast<int>(state_.iterations.size()) + 1;
  brief.target = state_.target;
  brief.speedup = state_.speedup();
  brief.goal = fmt::format(
      "make {} faster than {}{}, one change at a time, without changing what it computes", project_.op.name,
      session_.facts().session().baseline,
      state_.target > 0 ? fmt::format(" by {}x{}", state_.target, where_the_target_counts(state_)) : "");
  brief.left = left_of(budget(), cost(), project_.rates);
  brief.left.iterations = state_.most_iterations - static_cast<int>(state_.iterations.size());
  brief.incumbent = state_.incumbent();
  brief.first = state_.start;
  brief.shapes = state_.shapes(project_.shapes);
  for (const Iteration& iteration : state_.iterations) {
    (iteration.outcome ? brief.history : brief.pending)
        .push_back(
            {iteration.number, iteration.proposal, iteration.outcome.value_or(Outcome{}), iteration.choice});
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

void Loop::propose(Proposer& proposer) {
  if (state_.reached()) return end(LoopEnding::target_reached, "target reached");
  if (state_.done() >= state_.most_iterations)
    return end(LoopEnding::iterations, "as many iterations as there may be");
  if (const auto part = spent())
    return end(LoopEnding::budget_spent, fmt::format("the budget is spent: {}", name(*part)));
  const auto start = Clock::now();
  auto proposal = proposer.propose(brief());
  dry_ = !proposal;
  if (dry_ && state_.in_flight() > 0) return;  // what is being tried may give one
  if (!proposal) return end(LoopEnding::no_ideas, "no more ideas");
  if (proposal->spend.seconds == 0) proposal->spend.seconds = seconds_since(start);
  // What it did to the worktree is its change, whatever it says about that.
  if (const Worktree::Change change = candidate_->change(); !change.files.empty()) {
    if (!proposal->source) proposal->source.emplace();
    if (proposal->source->patch.empty()) proposal->source->patch = change.patch;
  }
  open_iteration(*proposal);
}

void Loop::open_iteration(const Proposal& proposal) {
  const int number = static_cast<int>(state_.iterations.size()) + 1;
  std::filesystem::create_directories(artifacts() / "patches");
  if (proposal.source) write_durably(patch_file(number), proposal.source->patch);
  append(record::Iteration{.iteration = number,
                           .proposal = proposal,
                           .choice = applied(proposal, state_.incumbent()),
                           .parent = state_.incumbent_commit(),
                           .patch = fmt::format("patches/{:03}.patch", number)});
  if (elsewhere_) send(state_.iterations.back());
}

void Loop::send(const Iteration& iteration) {
  std::string tree;
  if (prepare(iteration, tree).empty()) elsewhere_->send(evaluation_of(iteration));
}

void Loop::send_all() {
  for (const Iteration& iteration : state_.iterations)
    if (!iteration.outcome) send(iteration);
}

// It was proved better than an incumbent that has lost its place meanwhile. Now the same change to the new
// one has to be better than that.
void Loop::begin_again(const Iteration& iteration) {
  record::Iteration again{.iteration = iteration.number,
                          .proposal = iteration.proposal,
                          .choice = applied(iteration.proposal, state_.incumbent()),
                          .parent = state_.incumbent_commit(),
                          .patch = iteration.patch,
                          .again = true};
  again.proposal.spend = {};  // it was proposed once
  append(std::move(again));
}

void Loop::evaluate() {
  if (harness_hash(project_) != state_.harness) {
    throw Error(ErrorCode::environment,
                fmt::format("the files that judge have changed since the loop began ({})",
                            fmt::join(protected_files(project_), ", ")),
                "put them back and go on: dent optimize --resume; or start a new loop");
  }
  const auto start = Clock::now();
  const Iteration iteration = *state_.next();
  const Step step{
      .name = fmt::format("{} {}", iteration.proposal.proposer, what_is_tried(iteration.proposal)),
      .time_box_s = static_cast<double>(project_.shapes.size()) *
                    (project_.correctness.seconds + 4 * project_.performance.seconds)};
  session_.begin(step);
  std::string tree;
  const Outcome outcome = attempt(iteration, tree);
  const double elapsed = seconds_since(start);
  dry_ = false;
  if (outcome.kept && iteration.parent != state_.incumbent_commit()) {
    begin_again(iteration);
    return session_.end(step, passed("better than an incumbent that is none any more; compared again"),
                        elapsed);
  }
  conclude(iteration, outcome, tree, elapsed);
  session_.end(step, outcome.kept ? passed(in_words(outcome)) : skipped(in_words(outcome)), elapsed);
  warn_of_budget();
}

std::string Loop::prepare(const Iteration& iteration, std::string& tree) {
  Proposal proposal = iteration.proposal;
  const auto patch = patch_file(iteration.number);
  if (proposal.source) proposal.source->patch = text_of(patch);
  if (std::string wrong = what_is_wrong(proposal, project_, kernel_at(iteration.parent).choice);
      !wrong.empty())
    return wrong;
  candidate_->reset(iteration.parent);
  if (proposal.source) {
    if (const std::string why = candidate_->apply(patch); !why.empty())
      return "the patch does not apply: " + why;
  } else {
    std::ofstream(candidate_->project() / kTunedName) << tuned_text(iteration.choice);
  }
  const Worktree::Change change = candidate_->change();
  tree = change.tree;
  if (proposal.source) return refusal(change, proposal.source->files, project_);
  write_durably(patch, change.patch);
  return {};
}

// The candidate lies in its worktree.
LoopPart Loop::evaluation_of(const Iteration& iteration) {
  LoopPart wanted = part(PartKind::evaluation, fmt::format("{:03}", iteration.number));
  if (iteration.again) wanted.name += "/again";
  wanted.opponent = kernel_at(iteration.parent);
  wanted.candidate = {.name = kernel_name(fmt::format("{:03}", iteration.number)),
                      .choice = iteration.choice};
  wanted.rules = {.keep = {project_.optimize.min_gain, project_.optimize.shape_loss},
                  .screening_alpha = project_.performance.alpha,
                  .confirmation_alpha = state_.confirmation_alpha,
                  .sanitize = project_.optimize.sanitize_every > 0 &&
                              iteration.number % project_.optimize.sanitize_every == 0};
  if (elsewhere_) {
    elsewhere_->add_changes(*candidate_, changes_of(iteration.number, iteration.again), wanted.candidate);
    elsewhere_->add_changes(iteration.parent, *wanted.opponent);
  }
  return wanted;
}

Outcome Loop::attempt(const Iteration& iteration, std::string& tree) {
  if (std::string why = prepare(iteration, tree); !why.empty()) {
    Outcome outcome;
    outcome.stage = TrialStage::refused;
    outcome.reason = std::move(why);
    return outcome;
  }
  const LoopPart wanted = evaluation_of(iteration);
  const auto on_record = [&] {
    return evaluation_on_record(session_.facts(), project_, wanted.rules, wanted.name);
  };
  if (here_) {
    perform(wanted, {kernel_in(*candidate_, wanted.candidate), incumbent_kernel_}, session_,
            here_->against_baseline);
  } else {
    elsewhere_->see_through(wanted, [&](const std::string& why) {
      const auto at = on_record();
      if (const auto* step = std::get_if<std::string>(&at))
        session_.settle({.name = *step, .shown = false}, failed(Cause::environment, why, "dent jobs"));
    });
  }
  const auto end = on_record();
  if (const auto* step = std::get_if<std::string>(&end))
    throw Error(ErrorCode::internal, "the evaluation has ended before " + *step);
  return std::get<Outcome>(end);
}

void Loop::conclude(const Iteration& iteration, const Outcome& outcome, const std::string& tree,
                    double elapsed_s) {
  record::Outcome ended{.iteration = iteration.number,
                        .outcome = outcome,
                        .overhead_s = std::max(0.0, elapsed_s - outcome.build_s - outcome.kernel_s)};
  ended.outcome.elapsed_s = elapsed_s;
  if (outcome.kept) {
    ended.commit =
        repository_.commit(tree, iteration.parent, commit_message(iteration, outcome), iteration.time);
  }
  const std::string commit = ended.commit;
  append(std::move(ended));
  if (elsewhere_) {
    for (const bool again : {false, true}) elsewhere_->forget_changes(changes_of(iteration.number, again));
  }
  book_pattern(iteration, outcome);
  if (outcome.kept) {
    keep(iteration, commit);
  } else {
    std::error_code ignored;
    for (const char* folder : {"build", "sanitized"}) {
      std::filesystem::remove_all(
          store_.folder() / folder / fmt::format("{}-{:03}", session_.folder().id, iteration.number),
          ignored);
    }
  }
}

void Loop::keep(const Iteration& iteration, const std::string& commit) {
  repository_.move_branch(state_.branch, iteration.parent, commit);
  if (elsewhere_) return;
  incumbent_->reset(commit);
  incumbent_kernel_ = kernel_in(*incumbent_, part(PartKind::standing, "").candidate);
  here_->against_baseline.set_candidate(incumbent_kernel_);
}

// The shape that stands worst against the baseline shows what holds the kernel back.
void Loop::diagnose() {
  std::size_t worst = project_.shapes.size() - 1;
  double least = 0;
  const auto shapes = state_.shapes(project_.shapes);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const double ratio = shapes[i].incumbent_ns > 0 ? shapes[i].baseline_ns / shapes[i].incumbent_ns : 0;
    if (ratio > 0 && (least == 0 || ratio < least)) {
      least = ratio;
      worst = i;
    }
  }
  LoopPart wanted = part(PartKind::diagnosis, diagnosis_step(state_));
  wanted.shape = static_cast<std::int64_t>(worst);
  measure_incumbent(std::move(wanted));
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
  measure_incumbent(part(PartKind::standing, fmt::format("standing/{:03}", state_.last_done()->number)));
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
    session_.say(fmt::format("{:.0f} % of the budget's {} are spent", 100 * most->share, name(most->part)));
    return;
  }
}

}  // namespace dent
