// SPDX-License-Identifier: MIT
// What a loop does next, found in its records: a loop that was killed goes on with exactly that.
#pragma once

#include "ledger/facts.h"
#include "loop/state/loop_state.h"

namespace dent {

enum class LoopStage {
  opening,          // no loop record
  starting,         // no standing of the start
  diagnosing,       // the incumbent has no diagnosis, and none was refused
  evaluating,       // an iteration without an outcome, and no room for one more beside it
  checking_target,  // multiplied gains reach the target, and nobody has measured it
  proposing,        // all of that is done: the next idea, or the end
  validating,       // the end is on record, and something was kept
  concluding        // a gate that the loop can't do without has failed, nothing was kept, or the winner holds
};
inline constexpr Word<LoopStage> kLoopStageWords[] = {
    {LoopStage::opening, "opening"},        {LoopStage::starting, "starting"},
    {LoopStage::diagnosing, "diagnosing"},  {LoopStage::evaluating, "evaluating"},
    {LoopStage::checking_target, "target"}, {LoopStage::proposing, "proposing"},
    {LoopStage::validating, "validating"},  {LoopStage::concluding, "concluding"}};
constexpr std::span<const Word<LoopStage>> words(LoopStage) { return kLoopStageWords; }

// `spent`: nothing is left of the budget. An end for want of budget is void once there is more of it. `dry`:
// nobody has an idea before the next outcome.
LoopStage next_stage(const LoopState& state, const SessionFacts& facts, bool spent, bool dry = false);

// The gate that ended the loop; null while none has. Trials of candidates end no loop, nor does a winner that
// has not held when the loop goes on after it.
const record::Gate* stopped_by(const SessionFacts& facts, const LoopState& state, bool spent);

// The step that diagnoses the incumbent.
std::string diagnosis_step(const LoopState& state);

}  // namespace dent
