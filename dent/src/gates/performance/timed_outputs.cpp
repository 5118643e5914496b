// SPDX-License-Identifier: MIT
#include "gates/performance/timed_outputs.h"

#include <fmt/format.h>

#include <chrono>

#include "base/stopwatch.h"
#include "gates/judging/misbehaviour.h"
#include "gates/judging/replays.h"

namespace dent {

std::optional<GateResult> check_timed_outputs(GateContext& at, const TimedSide& side, double seconds) {
  const Problem& problem = *at.problem;
  const std::string& step = at.step;
  const auto start = std::chrono::steady_clock::now();
  Replays replays;
  for (const auto& call : side.kept_calls()) replays.remember(call.inputs, call.outputs);
  int checked = 0;
  for (const auto& call : side.kept_calls()) {
    if (auto finding = misbehaviour(call.kept, step, problem)) return finding;
    const double elapsed = seconds_since(start);
    if (++checked > kFewestChecked && elapsed > seconds / 2) break;
    const Agreement agreement = at.sides.oracle().judge(problem, call.inputs, call.outputs);
    if (agreement.ok()) continue;
    if (agreement.unwritten > 0) {
      return cheat(Cheat::calls_left_undone,
                   fmt::format("{} elements were never written", agreement.unwritten), step, problem.shape);
    }
    if (replays.seen(call.inputs, call.outputs))
      return cheat(Cheat::replayed_output, agreement.first_bad, step, problem.shape);
    return cheat(Cheat::wrong_when_timed,
                 agreement.first_bad + ", although the kernel passed the correctness gate", step,
                 problem.shape);
  }
  return std::nullopt;
}

}  // namespace dent
