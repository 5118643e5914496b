// SPDX-License-Identifier: MIT
// What every gate gives: how it ended, why, and the records that prove it.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "records/any_record.h"
#include "records/failure.h"

namespace dent {

struct Passed {
  std::string reason;  // one line, for people
  std::string next{};  // what to do about it; may be empty
};
struct Skipped {
  std::string reason;
};
struct Failed {  // can't be made without a cause: nothing is forgotten into a pass
  Cause cause;
  std::string reason;
  std::string next{};
  std::string last_words{};  // of a worker that died, or of a compiler
  std::optional<FailureKind> failure{};
};

struct GateResult {
  std::variant<Passed, Skipped, Failed> end;
  std::vector<AnyRecord> records{};       // kinds of its own, where it has any
  std::vector<record::Figure> figures{};  // shown by reports, --json and MCP without a line of code there

  StepVerdict verdict() const;
  const std::string& reason() const;
  const std::string& next() const;  // "" where there is none
  const Failed* failed() const { return std::get_if<Failed>(&end); }
  const Passed* passed() const { return std::get_if<Passed>(&end); }

  // The last record of that kind; null where there is none.
  template <class Kind>
  const Kind* last() const {
    for (auto record = records.rbegin(); record != records.rend(); ++record) {
      if (const auto* found = std::get_if<Kind>(&*record)) return found;
    }
    return nullptr;
  }
};

GateResult passed(std::string reason, std::string next = {});
GateResult skipped(std::string reason);
GateResult failed(Cause cause, std::string reason, std::string next = {}, std::string last_words = {});
// A worker that died, hung or cheated, as a gate's result. A failure of whom it is compared
// with, or of the reference, says nothing about the candidate: environment.
GateResult failed(const Failure& failure, const std::string& step);
// A cheat as a result, with its record.
GateResult cheat(Cheat which, const std::string& evidence, const std::string& step, const std::string& shape);

// As a step's last record, and back. The records between are not in it.
record::Gate to_record(const GateResult& result, const std::string& step);
GateResult result_of(const record::Gate& gate);

}  // namespace dent
