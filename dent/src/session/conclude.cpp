// SPDX-License-Identifier: MIT
#include "session/conclude.h"

#include <fmt/format.h>

namespace dent {
namespace {

Verdict verdict_of(SpeedVerdict speed) {
  switch (speed) {
    case SpeedVerdict::faster:
      return Verdict::faster;
    case SpeedVerdict::slower:
      return Verdict::slower;
    case SpeedVerdict::same:
      return Verdict::same;
    case SpeedVerdict::ambiguous:
      return Verdict::ambiguous;
  }
  throw Error(ErrorCode::internal, "a speed without a verdict");
}

// "CHEAT: input overwritten" under the verdict CHEAT says it twice.
std::string without_its_verdict(const std::string& reason, Verdict verdict) {
  const std::string prefix = std::string(name(verdict)) + ": ";
  return reason.starts_with(prefix) ? reason.substr(prefix.size()) : reason;
}

}  // namespace

Conclusion conclude(const std::string& id, const std::vector<Step>& plan, const SessionFacts& facts) {
  Conclusion end{.id = id, .verdict = Verdict::pass, .reason = "every step passed"};
  bool compared = false;
  for (const Step& step : plan) {
    const record::Gate* gate = facts.finished(step.name);
    if (gate == nullptr) {
      return {.id = id,
              .verdict = Verdict::interrupted,
              .reason = step.name + " has no end on record",
              .next = "dent resume " + id,
              .code = exit_code(Verdict::interrupted)};
    }
    if (gate->verdict != StepVerdict::fail) continue;
    end.verdict = dent::verdict_of(gate->cause.value_or(Cause::environment));
    end.reason = without_its_verdict(gate->reason, end.verdict);
    end.next = gate->next;
    break;
  }
  if (end.verdict == Verdict::pass && facts.summary()) {
    compared = true;
    end.verdict = verdict_of(facts.summary()->verdict);
    end.reason = facts.summary()->reason;
  }
  end.code = exit_code(end.verdict);
  if (const record::Gate* profile = facts.finished("profile");
      profile != nullptr && profile->verdict == StepVerdict::pass) {
    if (!compared && end.code == ExitCode::ok) end.reason = profile->reason;
    // A diagnosis knows better what to do next than the gate that found the kernel slow.
    const bool slow = end.code == ExitCode::ok || end.verdict == Verdict::slower;
    if (slow && !profile->next.empty()) end.next = profile->next;
  }
  return end;
}

}  // namespace dent
