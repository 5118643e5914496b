// SPDX-License-Identifier: MIT
#include "loop/loop.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <chrono>

#include "accounting/budget.h"
#include "base/stopwatch.h"
#include "project/choice.h"

namespace dent {
namespace {

std::size_t planned_steps(const Project& project, const LoopOptions& options) {
  return 3 + 5 * project.shapes.size() + static_cast<std::size_t>(most_iterations(project, options));
}

}  // namespace

int most_iterations(const Project& project, const LoopOptions& options) {
  return options.iterations.value_or(project.budget.iterations > 0 ? project.budget.iterations
                                                                   : kUsualIterations);
}

Loop::Loop(const Project& project, SessionStore& store, SessionFolder session, LoopOptions options,
           Display& display)
    : project_(project),
      store_(store),
      session_(std::move(session)),
      options_(std::move(options)),
      ledger_(session_.ledger()),
      state_(state_of(ledger_.records())),
      steps_(ledger_, display, planned_steps(project, options_)),
      workshop_(project, find_resources(), store.folder(), session_.artifacts()),
      participants_(workshop_) {
  // A session that goes on keeps its baseline.
  if (!steps_.facts().empty()) participants_.keep_baseline(steps_.facts().session().baseline);
#ifndef __SANITIZE_ADDRESS__  // whose search for leaks is such a look from outside
  prctl(PR_SET_DUMPABLE, 0);  // expected outputs are in our memory, which is nobody else's to read
#endif
}

void Loop::append(AnyRecord record) {
  ledger_.append(std::move(record));
  state_ = state_of(ledger_.records());
}

bool Loop::require(const GateResult& result) {
  if (const Failed* how = result.failed(); how != nullptr && !stopped_) stopped_ = *how;
  return !stopped_;
}

Kernel Loop::kernel_in(const Worktree& worktree, const Choice& choice, const std::string& tag) const {
  Kernel kernel = kernel_of(project_, choice);
  kernel.directory = worktree.project();
  kernel.name = session_.id + "-" + tag;
  return kernel;
}

std::optional<Proposal> Loop::unfinished() const {
  if (state_.iterations.empty() || state_.iterations.back().outcome) return std::nullopt;
  return state_.iterations.back().proposal;
}

std::optional<Proposal> Loop::ask(Proposer& proposer) {
  if (auto begun = unfinished()) return begun;
  const auto start = std::chrono::steady_clock::now();
  auto proposal = proposer.propose(brief());
  if (!proposal) return proposal;
  if (proposal->spend.seconds == 0) {
    proposal->spend.seconds = seconds_since(start);
  }
  // What it did to the worktree is its change, whatever it says about that.
  if (const Worktree::Change change = candidate_->change(); !change.files.empty()) {
    if (!proposal->source) proposal->source.emplace();
    if (proposal->source->patch.empty()) proposal->source->patch = change.patch;
  }
  return proposal;
}

bool Loop::may_go_on() const {
  if (!state_.ended || state_.ended->ending != LoopEnding::budget_spent) return false;
  const auto most = most_spent(budget(), cost(), project_.rates);
  return !most || most->share < 1;
}

std::optional<LoopOver> Loop::over() const {
  if (stopped_) return LoopOver{std::nullopt, stopped_->reason};
  if (has_ended()) return LoopOver{state_.ended->ending, state_.ended->reason};
  if (state_.reached()) return LoopOver{LoopEnding::target_reached, "target reached"};
  if (state_.done() >= state_.most_iterations)
    return LoopOver{LoopEnding::iterations, "as many iterations as there may be"};
  if (const auto most = most_spent(budget(), cost(), project_.rates); most && most->share >= 1)
    return LoopOver{LoopEnding::budget_spent, fmt::format("the budget is spent: {}", name(most->part))};
  return std::nullopt;
}

SessionEnd Loop::run(Proposer& proposer) {
  begin();
  while (!over()) {
    const auto proposal = ask(proposer);
    if (!proposal) return finish(kNoMoreIdeas);
    evaluate(*proposal);
  }
  return finish(*over());
}

}  // namespace dent
