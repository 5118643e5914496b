// SPDX-License-Identifier: MIT
// dent optimize: propose one change, try it, keep it when it is proved faster; until the target, the budget
// or the end of ideas. One object is one session, new or resumed.
//
//   Loop loop(project, store, folder, options, display);
//   loop.begin();                          // gates, and the kernel as it is against the baseline
//   while (loop.over().empty()) {
//     const auto proposal = loop.ask(proposer);
//     if (!proposal) break;
//     const Outcome outcome = loop.evaluate(*proposal);
//   }
//   const SessionEnd end = loop.finish();  // the winner again, from a clean checkout, on shapes nobody has
//   seen
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ledger/session_store.h"
#include "loop/proposers/proposer.h"
#include "loop/state/loop_state.h"
#include "accounting/cost.h"
#include "session/display.h"
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

class Loop {
 public:
  // Holds references to project, store and display. The caller holds the project's lock.
  Loop(const Project& project, SessionStore& store, SessionFolder session, LoopOptions options,
       Display& display);
  ~Loop();

  // Throws Error when the repository can't be used; a gate that fails at the start makes the loop over().
  void begin();
  // The proposal that a killed loop had on record without an outcome, else the proposer's next. Nothing: no
  // more ideas.
  std::optional<Proposal> ask(Proposer& proposer);
  Brief brief();
  Outcome evaluate(const Proposal& proposal);  // as the next iteration
  // Why the loop is over: a gate at the start, target reached, budget spent; "" while it is not.
  std::string over() const;
  SessionEnd finish(const std::string& why = {});

  SessionEnd run(Proposer& proposer);  // all of the above

  const LoopState& state() const;
  Cost cost() const;

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace dent
