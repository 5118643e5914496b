// SPDX-License-Identifier: MIT
// Gates of a loop that are no candidate's: those at its start and those of its winner. Each is recorded like
// any gate of a session, and one that is on record is not run again.
#pragma once

#include <functional>
#include <string>

#include "gates/gate.h"
#include "ledger/ledger.h"
#include "evaluation/evaluation.h"
#include "session/display.h"

namespace dent {

class Steps {
 public:
  Steps(Ledger& ledger, Display& display, std::size_t planned)
      : ledger_(ledger), display_(display), of_(planned) {}

  // A worker that dies is a failed gate.
  GateResult step(const std::string& name, double time_box_s,
                  const std::function<GateResult(const Progress&)>& gate);
  // For what is shown of an iteration.
  void begin(const Step& step);
  void end(const Step& step, const GateResult& result, double seconds);
  void say(const std::string& text);
  Progress progress() const;

 private:
  std::optional<GateResult> recorded(const std::string& name) const;

  Ledger& ledger_;
  Display& display_;
  std::size_t number_ = 0, of_;
};

// The trials of one iteration, as records of kind "trial".
class LedgerTrials : public TrialBook {
 public:
  LedgerTrials(Ledger& ledger, int iteration) : ledger_(ledger), iteration_(iteration) {}
  std::optional<GateResult> find(const std::string& trial) const override;
  void keep(const std::string& trial, const GateResult& result, double seconds) override;

 private:
  Ledger& ledger_;
  int iteration_;
};

}  // namespace dent
