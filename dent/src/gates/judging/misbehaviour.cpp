// SPDX-License-Identifier: MIT
#include "gates/judging/misbehaviour.h"

#include "system/strays.h"

namespace dent {

std::optional<GateResult> misbehaviour(const protocol::Kept& kept, const std::string& step,
                                       const Problem& problem) {
  if (!kept.mismatches.empty())
    return failed(Cause::incorrect, kept.mismatches.front(),
                  "change the function, or outputs under [operator] in dent.toml");
  if (kept.late) {
    return cheat(Cheat::late_write, "the output changed after the call had returned", step, problem.shape);
  }
  if (!kept.inputs.empty()) {
    return cheat(Cheat::input_overwritten, "the kernel changed its input " + kept.inputs.front(), step,
                 problem.shape);
  }
  if (!kept.overruns.empty()) {
    return failed(Cause::incorrect, "the kernel wrote beyond the end of " + kept.overruns.front(),
                  "dent sanitize finds the first out-of-bounds write");
  }
  return std::nullopt;
}

std::optional<GateResult> left_behind(Worker& candidate, const std::string& step, const Problem& problem) {
  candidate.check_confinement();
  const auto stray = kill_strays();
  if (!stray) return std::nullopt;
  return cheat(Cheat::process_left_behind,
               "process " + *stray + " ran outside the process group that dent stops and kills", step,
               problem.shape);
}

}  // namespace dent
