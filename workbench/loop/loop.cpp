// SPDX-License-Identifier: MIT
#include "loop/loop.h"

#include <sys/prctl.h>

#include <chrono>

#include "accounting/budget.h"
#include "loop/inside.h"
#include "project/choice.h"
#include "base/stopwatch.h"

namespace dent {
namespace {

const std::string kBudgetSpent = "the budget is spent: ";

std::size_t planned_steps(const Project& project, const LoopOptions& options) {
  const int iterations = options.iterations.value_or(project.budget.iterations > 0 ? project.budget.iterations
                                                                                   : kUsualIterations);
  return 3 + 5 * project.shapes.size() + static_cast<std::size_t>(iterations);
}

}  // namespace

Loop::Inside::Inside(const Project& project, SessionStore& store, SessionFolder session, LoopOptions options,
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
  for (const Record& record : ledger_.records()) {  // a session that goes on keeps its baseline
    if (record.kind == "session") participants_.keep_baseline(record.data.at("baseline").get<std::string>());
  }
#ifndef __SANITIZE_ADDRESS__  // whose search for leaks is such a look from outside
  prctl(PR_SET_DUMPABLE, 0);  // expected outputs are in our memory, which is nobody else's to read
#endif
}

void Loop::Inside::append(std::string_view kind, nlohmann::json data) {
  ledger_.append(kind, std::move(data));
  state_ = state_of(ledger_.records());
}

Kernel Loop::Inside::kernel_in(const Worktree& worktree, const Choice& choice, const std::string& tag) const {
  Kernel kernel = kernel_of(project_, choice);
  kernel.directory = worktree.project();
  kernel.name = session_.id + "-" + tag;
  return kernel;
}

Stage Loop::Inside::stage() { return {workshop_, participants_.oracle(), peaks_}; }

std::optional<Proposal> Loop::Inside::unfinished() const {
  if (state_.iterations.empty() || state_.iterations.back().outcome) return std::nullopt;
  return state_.iterations.back().proposal;
}

std::optional<Proposal> Loop::Inside::ask(Proposer& proposer) {
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

bool Loop::Inside::may_go_on() const {
  if (state_.ended.rfind(kBudgetSpent, 0) != 0) return false;
  const auto most = most_spent(budget(), cost(), project_.rates);
  return !most || most->share < 1;
}

std::string Loop::Inside::over() const {
  if (stopped_.verdict == GateVerdict::fail) return stopped_.reason;
  if (!state_.ended.empty() && !may_go_on()) return state_.ended;
  if (state_.target > 0 && state_.measured() && state_.towards_target() >= state_.target)
    return kTargetReached;
  if (state_.done() >= state_.most_iterations) return "as many iterations as there may be";
  if (const auto most = most_spent(budget(), cost(), project_.rates); most && most->share >= 1) {
    return kBudgetSpent + most->what;
  }
  return {};
}

Loop::Loop(const Project& project, SessionStore& store, SessionFolder session, LoopOptions options,
           Display& display)
    : inside_(std::make_unique<Inside>(project, store, std::move(session), std::move(options), display)) {}
Loop::~Loop() = default;

void Loop::begin() { inside_->begin(); }
Brief Loop::brief() { return inside_->brief(); }
std::optional<Proposal> Loop::ask(Proposer& proposer) { return inside_->ask(proposer); }
Outcome Loop::evaluate(const Proposal& proposal) { return inside_->evaluate(proposal); }
std::string Loop::over() const { return inside_->over(); }
SessionEnd Loop::finish(const std::string& why) { return inside_->finish(why); }
const LoopState& Loop::state() const { return inside_->state(); }
Cost Loop::cost() const { return inside_->cost(); }

SessionEnd Loop::run(Proposer& proposer) {
  begin();
  while (over().empty()) {
    const auto proposal = ask(proposer);
    if (!proposal) return finish("no more ideas");
    evaluate(*proposal);
  }
  return finish(over());
}

}  // namespace dent
