// SPDX-License-Identifier: MIT
// Takes a project through its plan, step by step. Each step's result is on disk before the next begins, so a
// session that was killed goes on where it was.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "gates/judging/oracle.h"
#include "gates/workshop.h"
#include "ledger/facts.h"
#include "ledger/ledger.h"
#include "ledger/session_store.h"
#include "predict/peaks.h"
#include "session/conclude.h"
#include "session/display.h"
#include "session/participants.h"
#include "session/plan.h"

namespace dent {

struct RunOptions {
  PlanOptions plan;
  bool clean = false;       // build from scratch
  bool rebaseline = false;  // forget the recorded baseline
  std::string command{};    // as given, for the record
};

class Runner {
 public:
  // Holds references to all of them.
  Runner(const Project& project, SessionStore& store, SessionFolder session, RunOptions options,
         Display& display);

  SessionEnd run();  // from the start, or from where the ledger ends

 private:
  void open_session();
  GateResult perform(const Step& step);
  GateResult run_step(const Step& step);
  GateResult measure(const Problem& problem, const Progress& progress);
  GateResult profile(const Step& step, const Progress& progress);
  std::optional<std::size_t> slowest_shape() const;  // of those below performance.profile_below
  bool still_runs(const Step& step, const record::Gate* stopped_by) const;
  std::optional<Peaks> device_peaks() const;
  GateResult load(GateResult built);
  void append(AnyRecord record);
  void append(std::vector<AnyRecord> records, const std::string& step);
  void record_end(const Step& step, const GateResult& result, double seconds, double own_seconds);
  SessionEnd conclude(double between_steps_s);

  const Project& project_;
  SessionStore& store_;
  SessionFolder session_;
  RunOptions options_;
  Display& display_;
  Ledger ledger_;
  SessionFacts facts_;
  std::vector<Step> plan_;
  Workshop workshop_;
  Participants participants_;
  std::uint64_t seed_ = 0;  // of the step that runs
};

}  // namespace dent
