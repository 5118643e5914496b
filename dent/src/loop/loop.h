// SPDX-License-Identifier: MIT
// dent optimize: propose one change, try it, keep it when it is proved faster; until the target, the budget
// or the end of ideas. One object is one session, new or resumed; what it does next is in its records
// (loop/state/stage.h).
//
//   Loop loop(project, store, folder, options, observer);
//   const Conclusion end = loop.run(proposer);
//
// Its parts: opening.cpp, iteration.cpp, ending.cpp.
#pragma once

#include <optional>
#include <string>

#include "accounting/cost.h"
#include "evaluation/evaluation.h"
#include "loop/elsewhere.h"
#include "loop/proposers/proposer.h"
#include "loop/state/loop_state.h"
#include "loop/state/stage.h"
#include "repository/worktree.h"
#include "session/session.h"

namespace dent {

inline constexpr int kUsualIterations = 20;

struct LoopOptions {
  std::optional<double> target{};  // over the manifest's
  std::optional<int> iterations{};
  std::optional<double> minutes{};
  bool rebaseline = false;
  std::string executor{};            // that measures; empty: this process, or as the loop began
  int parallel = 1;                  // candidates at a time; more than one needs an executor
  std::string command = "optimize";  // as given, for the record
};
// How many changes are tried at most.
int most_iterations(const Project& project, const LoopOptions& options);

class Loop {
 public:
  // Holds references to project, store and observer. The caller holds the project's lock. Throws Error when
  // the repository can't be used.
  Loop(const Project& project, SessionStore& store, SessionFolder folder, LoopOptions options,
       Observer& observer);

  // To the verdict, or to where its work was stopped from outside: then there is none on record, and it can
  // be resumed.
  Conclusion run(Proposer& proposer);
  // One change: the one that a killed loop had begun, else the proposer's. The outcome, or the end of the
  // loop where there was nothing to try any more.
  std::variant<Outcome, Conclusion> try_one(Proposer& proposer);

  const LoopState& state() const { return state_; }
  Cost cost() const { return cost_of(session_.records()); }

 private:
  // What measures in this process.
  struct Here {
    Here(const Project& project, const SessionStore& store, const std::filesystem::path& artifacts);
    KernelBuilder builder;
    WorkerFactory workers;
    Oracle oracle;
    Sides against_baseline;
  };

  LoopStage stage() const;
  void advance(Proposer& proposer);  // by one stage

  // opening.cpp
  void settle_where();  // here or elsewhere
  void open();
  void put_in_place();  // branch and worktrees, where the records say
  void start();
  LoopPart part(PartKind kind, std::string name) const;  // with the incumbent
  void measure_incumbent(LoopPart part);                 // against the baseline
  Budget budget() const;  // the manifest's with what the command line says over it

  // iteration.cpp
  void propose(Proposer& proposer);
  Brief brief();
  void open_iteration(const Proposal& proposal);
  void send(const Iteration& iteration);  // its evaluation is on its way, unless it is refused
  void send_all();                        // of those without an outcome
  void begin_again(const Iteration& iteration);
  PartKernel kernel_at(const std::string& commit) const;
  void evaluate();  // the iteration that has no outcome
  Outcome attempt(const Iteration& iteration, std::string& tree);
  // The candidate in its worktree; "" or why it is refused.
  std::string prepare(const Iteration& iteration, std::string& tree);
  LoopPart evaluation_of(const Iteration& iteration);  // once it is prepared
  void conclude(const Iteration& iteration, const Outcome& outcome, const std::string& tree,
                double elapsed_s);
  void keep(const Iteration& iteration, const std::string& commit);
  void diagnose();  // the incumbent; a profiler that fails stops nothing
  void book_pattern(const Iteration& iteration, const Outcome& outcome);
  void check_target();
  void warn_of_budget();
  std::filesystem::path patch_file(int iteration) const;

  // ending.cpp
  void end(LoopEnding ending, const std::string& reason);
  void validate_winner();
  Conclusion finish();
  Conclusion conclusion();
  Conclusion interrupted(const Interrupted& how) const;
  std::string how_to_take_it_over() const;

  std::optional<BudgetPart> spent() const;  // the part of the budget that has nothing left
  void append(AnyRecord record);            // and brings the state up to date
  void refresh() { state_ = state_of(session_.records()); }
  Kernel kernel_in(const Worktree& worktree, const PartKernel& kernel) const;
  std::string kernel_name(const std::string& tag) const { return session_.folder().id + "-" + tag; }
  std::filesystem::path artifacts() const { return session_.folder().artifacts(); }
  std::filesystem::path worktrees() const { return store_.folder() / "worktrees"; }

  const Project& project_;
  SessionStore& store_;
  LoopOptions options_;
  Session session_;
  LoopState state_;
  Repository repository_;
  std::optional<Here> here_;  // one of them
  std::optional<Elsewhere> elsewhere_;
  bool dry_ = false;  // nobody had an idea since the last outcome
  std::optional<Worktree> candidate_, incumbent_;
  Kernel incumbent_kernel_;
};

}  // namespace dent
