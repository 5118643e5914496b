// SPDX-License-Identifier: MIT
// What a Loop is made of. Its parts: start.cpp (gates before the first iteration), iterate.cpp, winner.cpp
// (the last check).
#pragma once

#include "gates/workshop.h"
#include "ledger/ledger.h"
#include "evaluation/evaluation.h"
#include "loop/loop.h"
#include "loop/steps.h"
#include "repository/worktree.h"
#include "session/participants.h"

namespace dent {

class Loop::Inside {
 public:
  Inside(const Project& project, SessionStore& store, SessionFolder session, LoopOptions options,
         Display& display);

  void begin();
  Brief brief();
  std::optional<Proposal> ask(Proposer& proposer);
  Outcome evaluate(const Proposal& proposal);
  std::string over() const;
  SessionEnd finish(const std::string& why);

  const LoopState& state() const { return state_; }
  Cost cost() const { return cost_of(ledger_.records()); }
  std::optional<Proposal> unfinished() const;

 private:
  // start.cpp
  void open_session();
  void open_loop();
  void start_gates();
  Budget budget() const;  // the manifest's with what the command line says over it

  // iterate.cpp
  int open_iteration(const Proposal& proposal);
  Outcome attempt(const Iteration& iteration, std::string& tree);
  void conclude(const Iteration& iteration, Outcome outcome, const std::string& tree, double elapsed_s);
  void keep(const Iteration& iteration, const std::string& commit);
  void diagnose();  // the incumbent; a profiler that fails stops nothing
  void book_pattern(const Iteration& iteration, const Outcome& outcome);
  void check_target();
  void warn_of_budget();
  std::filesystem::path patch_file(int iteration) const;

  // winner.cpp
  bool validate();
  bool validate_held_out(const std::string& prefix, const Kernel& winner, const Kernel& start);
  bool require(const GateResult& result);
  bool may_go_on() const;  // it had ended for want of budget, and now has more
  SessionEnd verdict();

  void append(std::string_view kind, nlohmann::json data);  // and brings the state up to date
  Kernel kernel_in(const Worktree& worktree, const Choice& choice, const std::string& tag) const;
  Stage stage();
  std::filesystem::path worktrees() const { return store_.folder() / "worktrees"; }
  // Every shape against the baseline, as steps with that prefix; nothing when one fails.
  std::optional<Standing> against_baseline(const std::string& prefix, const Kernel& kernel);

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
  GateResult stopped_;  // the gate that ended it, when one did
};

}  // namespace dent
