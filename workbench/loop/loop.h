// SPDX-License-Identifier: MIT
// dent optimize: propose one change, try it, keep it when it is proved faster; until the target, the budget
// or the end of ideas. One object is one session, new or resumed.
//
//   Loop loop(project, store, folder, options, display);
//   loop.begin();                        // gates, baseline, the incumbent against it
//   while (!loop.over()) {
//     const auto proposal = proposer.propose(loop.brief());
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
#include "loop/brief.h"
#include "loop/proposer.h"
#include "session/display.h"
#include "session/runner.h"

namespace dent {

struct LoopOptions {
  std::optional<double> target{};  // over the manifest's
  std::optional<int> iterations{};
  std::optional<double> minutes{};
  std::string command{};  // as given, for the record
};

class Loop {
 public:
  // Holds references to project, store and display. The caller holds the project's lock.
  Loop(const Project& project, SessionStore& store, SessionFolder session, LoopOptions options,
       Display& display);
  ~Loop();

  void begin();
  // An iteration whose proposal is on record and whose outcome is not, of a loop that was killed.
  std::optional<Proposal> unfinished() const;
  Brief brief();
  Outcome evaluate(const Proposal& proposal);
  // Why the loop is over: target reached, budget spent; "" while it is not.
  std::string over() const;
  SessionEnd finish(const std::string& why);

  SessionEnd run(Proposer& proposer);  // all of the above

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace dent
