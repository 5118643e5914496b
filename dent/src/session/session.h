// SPDX-License-Identifier: MIT
// One session, new or resumed: the only writer of its ledger. `dent run`, the single gates, `optimize` and
// `evaluate` all work through it. Each step's result is on disk before the next begins, so a session that was
// killed goes on where it was.
//
//   Session session(project, store, folder, observer);
//   session.open({.command = "run", .plan = plan}, sides);
//   const GateResult result = session.perform(step, sides);   // or read back, when it is on record
//   session.conclude(conclusion);
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ledger/facts.h"
#include "ledger/ledger.h"
#include "ledger/session_store.h"
#include "session/conclude.h"
#include "session/observer.h"
#include "session/step_runner.h"
#include "workers/device_turns.h"

namespace dent {

struct SessionRequest {
  std::string command;                // as given
  std::vector<Step> plan{};           // none: it is found on the way
  std::vector<std::string> gates{};   // as asked for
  std::vector<std::string> shapes{};  // none: all
  std::optional<record::Git> git{};   // of the tree that was copied here; nothing: ask git
};

class Session {
 public:
  // Holds references to all of them. The caller holds the project's lock.
  Session(const Project& project, SessionStore& store, SessionFolder folder, Observer& observer);

  // The first records of a new session: what it is, on which machine, against which baseline. One that goes
  // on keeps its baseline.
  void open(const SessionRequest& request, Sides& sides);
  // The same for a session that is done elsewhere: machine and baseline are known when its first job has
  // begun, from that job's own first records.
  void open_elsewhere(const SessionRequest& request);
  void learn(const record::Session& of_the_job);

  // From now on, steps that run kernels have the device to themselves among all who ask for it this way,
  // until what they found is on record.
  void share(DeviceTurns& device) { device_ = &device; }

  // Asks the step's gate, unless the answer is on record.
  GateResult perform(const Step& step, Sides& sides);
  // An end of the step that no gate has found: not reached, the budget is spent.
  GateResult settle(const Step& step, GateResult result);
  // The reports as they are now, as a step.
  GateResult report(const Step& step);

  void append(AnyRecord record);
  // A record that a job wrote elsewhere, once: false when it has been taken in before.
  bool take_in(const Record& theirs, const std::string& job);
  // The verdict on record, once, and the reports.
  Conclusion conclude(Conclusion conclusion, double own_s_between_steps = 0);

  const SessionFacts& facts() const { return facts_; }
  const std::vector<Record>& records() const { return ledger_.records(); }
  const SessionFolder& folder() const { return folder_; }

  // What people see.
  void show(const std::vector<Step>& plan, std::size_t done_already);
  void expect_steps(std::size_t count) { of_ = count; }  // of a session without a plan
  void begin(const Step& step);
  void end(const Step& step, const GateResult& result, double seconds);
  void say(const std::string& text) { observer_.note(text); }
  void say(const std::vector<Running>& running) { observer_.running(running); }
  Progress progress() const;

 private:
  record::Session first_record(const SessionRequest& request) const;
  GateResult carry_out(const Step& step, const std::function<Performed()>& work);
  void append(std::vector<AnyRecord> records, const std::string& step);

  const Project& project_;
  SessionStore& store_;
  SessionFolder folder_;
  Observer& observer_;
  Ledger ledger_;
  SessionFacts facts_;
  DeviceTurns* device_ = nullptr;
  std::map<std::string, std::int64_t> taken_;  // of each job: the number of its last record
  std::size_t number_ = 0, of_ = 0;            // steps that people have seen, of how many
};

// The session to go on with, by id, by the beginning of one, or "latest": the last one of `command`. Throws
// Error with the remedy when it is none of that command, or the project has changed since.
SessionFolder session_to_resume(const SessionStore& store, const Project& project, const std::string& id,
                                const std::string& command);

}  // namespace dent
