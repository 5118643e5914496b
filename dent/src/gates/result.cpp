// SPDX-License-Identifier: MIT
#include "gates/result.h"

#include <fmt/format.h>

namespace dent {
namespace {

const std::string kNothing;

Failed candidate_failed(const Failure& failure) {
  Failed end{Cause::incorrect, failure.what, "fix what its last lines say, then: dent check",
             failure.last_words, failure.kind};
  switch (failure.kind) {
    case FailureKind::hung:
      end.cause = Cause::timeout;
      end.next = "look for an endless loop or a deadlock; or raise limits.call_seconds in dent.toml";
      break;
    case FailureKind::cheated:
      end.cause = Cause::cheat;
      end.next.clear();  // cheat() sets its own
      break;
    case FailureKind::out_of_memory:
      end.next = "raise limits.memory_gib in dent.toml if the kernel needs it";
      break;
    case FailureKind::crashed:
      end.next = "dent sanitize finds the first invalid access";
      break;
    case FailureKind::no_driver:
      end.cause = Cause::environment;
      end.next = "run this on a machine with an NVIDIA GPU and its driver";
      break;
    case FailureKind::exited:
    case FailureKind::garbage:
    case FailureKind::refused:
      break;
  }
  return end;
}

}  // namespace

StepVerdict GateResult::verdict() const {
  if (std::holds_alternative<Failed>(end)) return StepVerdict::fail;
  return std::holds_alternative<Skipped>(end) ? StepVerdict::skipped : StepVerdict::pass;
}

const std::string& GateResult::reason() const {
  return std::visit([](const auto& how) -> const std::string& { return how.reason; }, end);
}

const std::string& GateResult::next() const {
  if (const Failed* how = failed()) return how->next;
  if (const Passed* how = passed()) return how->next;
  return kNothing;
}

GateResult passed(std::string reason, std::string next) {
  return {.end = Passed{std::move(reason), std::move(next)}};
}

GateResult skipped(std::string reason) { return {.end = Skipped{std::move(reason)}}; }

GateResult failed(Cause cause, std::string reason, std::string next, std::string last_words) {
  return {.end = Failed{cause, std::move(reason), std::move(next), std::move(last_words), {}}};
}

GateResult failed(const Failure& failure, const std::string& step) {
  Failed end = candidate_failed(failure);
  if (failure.role == Role::baseline || failure.role == Role::reference || failure.role == Role::incumbent) {
    end.cause = Cause::environment;
    end.next = fmt::format("fix the {}, or its description in dent.toml; {}", name(failure.role), end.next);
  }
  if (end.cause != Cause::cheat) return {.end = std::move(end)};
  GateResult result = cheat(failure.cheat.value_or(Cheat::unasked_answer), failure.what, step, "");
  auto& how = std::get<Failed>(result.end);
  how.last_words = failure.last_words;
  how.failure = failure.kind;
  return result;
}

GateResult cheat(Cheat which, const std::string& evidence, const std::string& step,
                 const std::string& shape) {
  GateResult result = failed(Cause::cheat, fmt::format("CHEAT: {}: {}", name(which), evidence),
                             "compute every output from the inputs of the same call, then: dent check");
  result.records.emplace_back(record::Cheated{which, evidence, step, shape});
  return result;
}

record::Gate to_record(const GateResult& result, const std::string& step) {
  record::Gate gate{.step = step,
                    .verdict = result.verdict(),
                    .reason = result.reason(),
                    .next = result.next(),
                    .last_words = {},
                    .seed = {},
                    .figures = result.figures};
  if (const Failed* how = result.failed()) {
    gate.cause = how->cause;
    gate.last_words = how->last_words;
    gate.failure = how->failure;
  }
  return gate;
}

GateResult result_of(const record::Gate& gate) {
  GateResult result;
  switch (gate.verdict) {
    case StepVerdict::pass:
      result.end = Passed{gate.reason, gate.next};
      break;
    case StepVerdict::skipped:
      result.end = Skipped{gate.reason};
      break;
    case StepVerdict::fail:  // older ledgers may lack the cause
      result.end = Failed{gate.cause.value_or(Cause::environment), gate.reason, gate.next, gate.last_words,
                          gate.failure};
      break;
  }
  result.figures = gate.figures;
  return result;
}

}  // namespace dent
