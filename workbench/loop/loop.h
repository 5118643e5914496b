// SPDX-License-Identifier: MIT
// dent optimize: propose one change, try it, keep it when it is proved faster; until the target, the budget
// or the end of ideas. One object is one session, new or resumed.
//
//   Loop loop(project, store, folder, options, display);
//   loop.begin();                              // gates, and the kernel as it is against the baseline
//   while (!loop.over()) {
//     const auto proposal = loop.ask(proposer);
//     if (!proposal) return loop.finish(kNoMoreIdeas);
//     const Outcome outcome = loop.evaluate(*proposal);
//   }
//   return loop.finish(*loop.over());          // the winner again, from a clean checkout, on shapes nobody
//                                              // has seen
//
// Its parts: opening.cpp, iteration.cpp, ending.cpp.
#pragma once

#include <optional>
#include <string>

#include "accounting/cost.h"
#include "evaluation/evaluation.h"
#include "gates/workshop.h"
#include "ledger/ledger.h"
#include "ledger/session_store.h"
#include "loop/proposers/proposer.h"
#include "loop/state/loop_state.h"
#include "loop/steps.h"
#include "repository/worktree.h"
#include "session/display.h"
#include "session/participants.h"
#include "session/runner.h"

namespace dent {

inline constexpr int kUsualIterations = 20;

struct LoopOptions {
  std::optional<double> target{};  // over the manifest's
  std::optional<int> iterations{};
  std::optional<double> minutes{};
  bool rebaseline = false;
  std::string command{};  // as given, for the record
};
// How many changes are tried at most.
int most_iterations(const Project& project, const LoopOptions& options);

// Why a loop is over.
struct LoopOver {
  std::optional<LoopEnding> ending;  // nothing: a gate has failed, and that is the verdict
  std::string reason;                // one line, for people
};
inline const LoopOver kNoMoreIdeas{LoopEnding::no_ideas, "no more ideas"};

class Loop {
 public:
  // Holds references to project, store and display. The caller holds the project's lock.
  Loop(const Project& project, SessionStore& store, SessionFolder session, LoopOptions options,
       Display& display);

  // Throws Error when the repository can't be used; a gate that fails at the start makes the loop over().
  void begin();
  // The proposal that a killed loop had on record without an outcome, else the proposer's next. Nothing: no
  // more ideas.
  std::optional<Proposal> ask(Proposer& proposer);
  Brief brief();
  Outcome evaluate(const Proposal& proposal);  // as the next iteration
  // A gate at the start, target reached, budget spent; nothing while it goes on.
  std::optional<LoopOver> over() const;
  SessionEnd finish(const LoopOver& why);

  SessionEnd run(Proposer& proposer);  // all of the above

  const LoopState& state() const { return state_; }
  Cost cost() const { return cost_of(ledger_.records()); }

 private:
  // opening.cpp
  void open_session();
  void open_loop();
  void start_gates();
  Budget budget() const;  // the manifest's with what the command line says over it
  // Every shape against the baseline, as steps with that prefix; false when one fails.
  bool against_baseline(StandingOf whose, const std::string& prefix, const Kernel& kernel);

  // iteration.cpp
  void open_iteration(const Proposal& proposal);
  Outcome attempt(const Iteration& iteration, std::string& tree);
  void conclude(const Iteration& iteration, const Outcome& outcome, const std::string& tree,
                double elapsed_s);
  void keep(const Iteration& iteration, const std::string& commit);
  void diagnose();  // the incumbent; a profiler that fails stops nothing
  void book_pattern(const Iteration& iteration, const Outcome& outcome);
  void check_target();
  void warn_of_budget();
  std::filesystem::path patch_file(int iteration) const;

  // ending.cpp
  bool validate();
  bool validate_held_out(const std::string& prefix, const Kernel& winner, const Kernel& start);
  SessionEnd verdict();
  SessionEnd conclusion();
  std::string how_to_take_it_over() const;

  std::optional<Proposal> unfinished() const;
  bool may_go_on() const;  // it had ended for want of budget, and now has more
  bool has_ended() const { return state_.ended && !may_go_on(); }
  bool require(const GateResult& result);  // false: it failed, and that stops the loop
  void append(AnyRecord record);           // and brings the state up to date
  Kernel kernel_in(const Worktree& worktree, const Choice& choice, const std::string& tag) const;
  EvaluationContext context() { return {workshop_, participants_.oracle(), peaks_}; }
  std::filesystem::path worktrees() const { return store_.folder() / "worktrees"; }

  const Project& project_;
  SessionStore& store_;
  SessionFolder session_;
  LoopOptions options_;
  Ledger ledger_;
  LoopState state_;
  Steps steps_;
  std::optional<Repository> repository_;
  Workshop workshop_;
  Participants participants_;
  std::optional<Peaks> peaks_;
  std::optional<Worktree> candidate_, incumbent_;
  Kernel incumbent_kernel_;
  std::optional<Failed> stopped_;  // the gate that ended it, when one did
};

}  // namespace dent
