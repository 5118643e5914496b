// SPDX-License-Identifier: MIT
// One iteration: the hypothesis on record, one change in a worktree, the gates, and a commit or none.
#include <fmt/format.h>

#include <chrono>
#include <fstream>

#include "base/error.h"
#include "gates/profile/profile.h"
#include "system/durable_file.h"
#include "accounting/budget.h"
#include "loop/proposers/harness.h"
#include "loop/inside.h"
#include "patterns/evidence.h"
#include "project/choice.h"
#include "base/text.h"
#include "base/stopwatch.h"

namespace dent {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
constexpr double kDiagnosisSeconds = 120;

std::string what_is_tried(const Proposal& proposal) {
  if (proposal.assignment) return proposal.assignment->tunable + "=" + proposal.assignment->value;
  if (proposal.variant) return "variant " + *proposal.variant;
  return proposal.hypothesis.change.substr(0, proposal.hypothesis.change.find('\n'));
}

// Where the diagnosis points; without one the order of attack holds from its beginning.
Phase phase_of(const json& diagnosis) {
  const std::string phase = diagnosis.value("phase", "");
  if (phase.empty() || diagnosis.value("bottleneck", "").empty()) return Phase::parallelism;
  return parse_phase(phase);
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

std::filesystem::path Loop::Inside::patch_file(int iteration) const {
  return session_.artifacts() / "patches" / fmt::format("{:03}.patch", iteration);
}

Brief Loop::Inside::brief() {
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
  if (!state_.diagnosis.is_null()) {
    brief.diagnosis = state_.diagnosis;
    brief.patterns = state_.diagnosis.value("patterns", json::array());
    brief.diagnosis.erase("patterns");
    brief.phase = phase_of(state_.diagnosis);
  }
  brief.allowed_files = allowed_files(project_);
  brief.protected_files = protected_files(project_);
  brief.patch_lines = project_.optimize.patch_lines;
  if (candidate_) {
    candidate_->reset(state_.incumbent_commit());
    brief.worktree = candidate_->project();
  }
  return brief;
}

int Loop::Inside::open_iteration(const Proposal& proposal) {
  if (unfinished()) return state_.iterations.back().number;
  const int number = static_cast<int>(state_.iterations.size()) + 1;
  std::filesystem::create_directories(session_.artifacts() / "patches");
  if (proposal.source) write_durably(patch_file(number), proposal.source->patch);
  json record = to_json(proposal);
  record["iteration"] = number;
  record["choice"] = to_json(applied(proposal, state_.incumbent()));
  record["parent"] = state_.incumbent_commit();
  record["patch"] = fmt::format("patches/{:03}.patch", number);
  append("iteration", std::move(record));
  return number;
}

Outcome Loop::Inside::evaluate(const Proposal& proposal) {
  if (harness_hash(project_) != state_.harness) {
    throw Error(ErrorCode::environment,
                fmt::format("the files that judge have changed since the loop began ({})",
                            fmt::join(protected_files(project_), ", ")),
                "put them back and go on: dent optimize --resume; or start a new loop");
  }
  const auto start = Clock::now();
  open_iteration(proposal);
  const Iteration iteration = state_.iterations.back();
  const Step step{StepKind::performance,
                  fmt::format("{} {}", iteration.proposal.proposer, what_is_tried(iteration.proposal)),
                  0,
                  static_cast<double>(project_.shapes.size()) *
                      (project_.correctness.seconds + 4 * project_.performance.seconds),
                  "",
                  ""};
  steps_.begin(step);
  std::string tree;
  Outcome outcome = attempt(iteration, tree);
  const double elapsed = seconds_since(start);
  conclude(iteration, outcome, tree, elapsed);
  GateResult shown = outcome.kept ? passed("kept: " + outcome.reason)
                                  : skipped(fmt::format("dropped at {}: {}", outcome.stage, outcome.reason));
  steps_.end(step, shown, elapsed);
  if (outcome.kept) check_target();
  warn_of_budget();
  if (outcome.kept && over().empty()) diagnose();
  return outcome;
}

Outcome Loop::Inside::attempt(const Iteration& iteration, std::string& tree) {
  const auto refused = [](std::string why) {
    Outcome outcome;
    outcome.stage = "refused";
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
  LedgerTrials trials(ledger_, iteration.number);
  const Kernel kernel = kernel_in(*candidate_, iteration.choice, fmt::format("{:03}", iteration.number));
  return dent::evaluate(stage(), kernel, incumbent_kernel_, rules, trials, steps_.progress());
}

void Loop::Inside::conclude(const Iteration& iteration, Outcome outcome, const std::string& tree,
                            double elapsed_s) {
  json record = to_json(outcome);
  record["iteration"] = iteration.number;
  record["elapsed_s"] = elapsed_s;
  record["overhead_s"] = std::max(0.0, elapsed_s - outcome.build_s - outcome.kernel_s);
  std::string commit;
  if (outcome.kept) {
    commit = repository_->commit(tree, iteration.parent, commit_message(iteration, outcome), iteration.time);
    record["commit"] = commit;
  }
  append("outcome", std::move(record));
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

void Loop::Inside::keep(const Iteration& iteration, const std::string& commit) {
  repository_->move_branch(state_.branch, iteration.parent, commit);
  incumbent_->reset(commit);
  incumbent_kernel_ = kernel_in(*incumbent_, state_.incumbent(), fmt::format("{:03}", iteration.number));
}

// The shape that stands worst against the baseline shows what holds the kernel back.
void Loop::Inside::diagnose() {
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
  const std::string name = fmt::format("diagnosis/{:03}", kept != nullptr ? kept->number : 0);
  workshop_.log_into(session_.artifacts());
  steps_.step(name, kDiagnosisSeconds, [&](const Progress& progress) {
    try {
      GateResult result = ProfileGate(workshop_, store_, session_.artifacts())
                              .run(incumbent_kernel_, workshop_.problems()[worst], secret_seed(), progress);
      return result;
    } catch (const KernelFailed& problem) {
      return skipped(std::string("no diagnosis: ") + problem.what());
    } catch (const Error& problem) {
      return skipped(std::string("no diagnosis: ") + problem.what());
    }
  });
  state_ = state_of(ledger_.records());
}

// What became of it where it was tried, for the library of patterns.
void Loop::Inside::book_pattern(const Iteration& iteration, const Outcome& outcome) {
  if (iteration.proposal.pattern.empty()) return;
  Application application;
  application.pattern = iteration.proposal.pattern;
  application.bottleneck = state_.diagnosis.is_object() ? state_.diagnosis.value("bottleneck", "") : "";
  application.outcome = outcome.kept ? "kept" : outcome.shapes.empty() ? "failed" : "dropped";
  if (outcome.gain) application.gain = outcome.gain->centre;
  append("pattern", to_json(application));
}

// The product of many gains may say that the target is reached; only a measurement says that it is.
void Loop::Inside::check_target() {
  if (!(state_.target > 0) || state_.towards_target() < state_.target) return;
  workshop_.log_into(session_.artifacts());
  against_baseline(fmt::format("standing/{:03}", state_.iterations.back().number), incumbent_kernel_);
}

void Loop::Inside::warn_of_budget() {
  Budget limits = budget();
  limits.iterations = state_.most_iterations;
  const auto most = most_spent(limits, cost(), project_.rates);
  if (!most) return;
  for (const double share : {0.8, 0.5}) {
    const std::string what = fmt::format("{:.0f} % of {}", 100 * share, most->what);
    if (most->share < share) continue;
    for (const std::string& warned : state_.warned) {
      if (warned == what) return;
    }
    append("budget", {{"what", what}, {"share", most->share}});
    steps_.say(fmt::format("{} of the budget's {} are spent", fmt::format("{:.0f} %", 100 * most->share),
                           most->what));
    return;
  }
}

}  // namespace dent
