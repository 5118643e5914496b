// SPDX-License-Identifier: MIT
// A loop's steps: gates at its start, trials of candidates ("003/screening/tiny"), checks of its winner. Each
// is performed once: one that is on record is read back instead, so a loop that was killed goes on where it
// was.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "gates/gate.h"
#include "ledger/facts.h"
#include "ledger/ledger.h"
#include "session/display.h"

namespace dent {

class Steps {
 public:
  Steps(Ledger& ledger, Display& display, std::size_t planned)
      : ledger_(ledger), display_(display), of_(planned) {}

  // A step of its own, which people see. A worker that dies is a failed gate.
  GateResult perform(const Step& step, const std::function<GateResult(const Progress&)>& gate);
  // A part of what people see already as one step; they see its progress. On record all at once.
  GateResult trial(const std::string& name, const std::function<GateResult()>& gate);

  // What people see of an iteration.
  void begin(const Step& step);
  void end(const Step& step, const GateResult& result, double seconds);
  void say(const std::string& text);
  Progress progress() const;

  const SessionFacts& facts();  // of the ledger as it is now

 private:
  std::optional<GateResult> recorded(const std::string& name);

  Ledger& ledger_;
  Display& display_;
  std::size_t number_ = 0, of_;
  SessionFacts facts_;
  std::size_t taken_ = 0;  // records that the facts are made of
};

}  // namespace dent
