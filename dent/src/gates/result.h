// SPDX-License-Identifier: MIT
// Result of a gate: how it ended, why, and the records that prove it.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "records/any_record.h"
#include "records/failure.h"

namespace dent {

struct Passed {
  std::string reason;  // one line
  std::string next{};  // what to do next; may be empty
};
struct Skipped {
  std::string reason;
};
struct Failed {  // needs a cause, so that a failure is never mistaken for a pass
  Cause cause;
  std::string reason;
  std::string next{};
  std::string last_words{};  // end of the output of a worker or a compiler
  std::optional<FailureKind> failure{};
};

struct GateResult {
  std::variant<Passed, Skipped, Failed> end;
  std::vector<AnyRecord> records{};       // in addition to the step's end
  std::vector<record::Figure> figures{};  // reports, --json and MCP show them without further code

  StepVerdict verdict() const;
  const std::string& reason() const;
  const std::string& next() const;  // "" if there is none
  const Failed* failed() const { return std::get_if<Failed>(&end); }
  const Passed* passed() const { return std::get_if<Passed>(&end); }

  // The last record of that kind; null if there is none.
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
// The result of a worker that died, hung or cheated. If it is not the candidate but the opponent or the
// reference, the cause is `environment`.
GateResult failed(const Failure& failure, const std::string& step);
// The result of a cheat, including its record.
GateResult cheat(Cheat which, const std::string& evidence, const std::string& step, const std::string& shape);

// Conversion to a step's last record, and back. Other records are not part of it.
record::Gate to_record(const GateResult& result, const std::string& step);
GateResult result_of(const record::Gate& gate);

}  // namespace dent
