// SPDX-License-Identifier: MIT
// What every gate gives: a verdict, why, and the records that prove it.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "records/failure.h"

namespace dent {

enum class GateVerdict { pass, fail, skipped };
std::string_view name(GateVerdict verdict);

// What a failure was about; each has an exit code of its own.
enum class Cause {
  none,
  environment,
  build,
  incorrect,
  slower,
  regressed,
  ambiguous,
  cheat,
  timeout,
  budget
};

struct GateResult {
  GateVerdict verdict = GateVerdict::pass;
  Cause cause = Cause::none;
  std::string reason;  // one line, for people
  std::string next;    // what to do about it; may be empty
  nlohmann::json evidence;
  std::string last_words;  // of a worker that died
  std::vector<std::pair<std::string, nlohmann::json>>
      records;  // kind and data, as docs/dent-records.md has them
};

GateResult passed(std::string reason);
GateResult skipped(std::string reason);
GateResult failed(Cause cause, std::string reason, std::string next = {});
// A worker that died, hung or cheated, as a gate's result.
GateResult failed(const Failure& failure);

// Tells people how far a gate is: 0 to 1 of its work, and what it does.
using Progress = std::function<void(double share, const std::string& doing)>;

}  // namespace dent
