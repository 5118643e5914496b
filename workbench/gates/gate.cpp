// SPDX-License-Identifier: MIT
#include "gates/gate.h"

#include <fmt/format.h>

#include <algorithm>

namespace dent {

std::string_view name(GateVerdict verdict) {
  switch (verdict) {
    case GateVerdict::pass:
      return "pass";
    case GateVerdict::fail:
      return "fail";
    case GateVerdict::skipped:
      return "skipped";
  }
  return "";
}

GateResult passed(std::string reason) {
  GateResult result;
  result.reason = std::move(reason);
  return result;
}

GateResult skipped(std::string reason) {
  GateResult result = passed(std::move(reason));
  result.verdict = GateVerdict::skipped;
  return result;
}

GateResult failed(Cause cause, std::string reason, std::string next) {
  GateResult result = passed(std::move(reason));
  result.verdict = GateVerdict::fail;
  result.cause = cause;
  result.next = std::move(next);
  return result;
}

GateResult failed(const Failure& failure) {
  Cause cause = Cause::incorrect;
  std::string next = "the end of what the process printed is in the report";
  switch (failure.kind) {
    case Failure::Kind::hung:
      cause = Cause::timeout;
      next = "look for an endless loop or a deadlock; or raise limits.call_seconds in dent.toml";
      break;
    case Failure::Kind::cheated:
      cause = Cause::cheat;
      next = {};
      break;
    case Failure::Kind::out_of_memory:
      next = "raise limits.memory_gib in dent.toml if the kernel needs it";
      break;
    case Failure::Kind::crashed:
      next = "dent sanitize finds the first wild access";
      break;
    default:
      break;
  }
  if (failure.role == "baseline" || failure.role == "reference") {  // says nothing about the candidate
    cause = Cause::environment;
    next = fmt::format("mend the {}, or what dent.toml says about it; {}", failure.role, next);
  }
  GateResult result = failed(cause, (cause == Cause::cheat ? "CHEAT: " : "") + failure.what, std::move(next));
  if (cause == Cause::cheat) {
    const auto colon = failure.what.find(": ");
    result.records.emplace_back(
        "cheat", nlohmann::json{{"name", failure.what.substr(0, colon)},
                                {"evidence", failure.what.substr(std::min(colon + 2, failure.what.size()))}});
  }
  result.last_words = failure.last_words;
  result.evidence = {{"failure", name(failure.kind)}};
  return result;
}

}  // namespace dent
