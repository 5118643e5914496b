// SPDX-License-Identifier: MIT
// How a step ends, and how a session ends.
#pragma once

#include "base/words.h"

namespace dent {

enum class StepVerdict { pass, fail, skipped };
inline constexpr Word<StepVerdict> kStepVerdictWords[] = {
    {StepVerdict::pass, "pass"}, {StepVerdict::fail, "fail"}, {StepVerdict::skipped, "skipped"}};
constexpr std::span<const Word<StepVerdict>> words(StepVerdict) { return kStepVerdictWords; }

enum class Verdict {
  pass,  // every step passed, and nothing was compared
  faster,
  same,
  slower,
  ambiguous,
  regressed,
  incorrect,
  cheat,
  build_failed,
  environment,
  timeout,
  budget,
  missed,        // dent optimize: the target was not reached, and there are no more ideas
  kept,          // dent evaluate
  dropped,       // dent evaluate: not proved faster
  refused,       // dent evaluate: not one change, or one that may not be made
  busy_machine,  // nothing could be told, and other programs could be why
  interrupted,   // no verdict is on record: dent resume goes on
};
inline constexpr Word<Verdict> kVerdictWords[] = {{Verdict::pass, "PASS"},
                                                  {Verdict::faster, "FASTER"},
                                                  {Verdict::same, "SAME"},
                                                  {Verdict::slower, "SLOWER"},
                                                  {Verdict::ambiguous, "AMBIGUOUS"},
                                                  {Verdict::regressed, "REGRESSED"},
                                                  {Verdict::incorrect, "INCORRECT"},
                                                  {Verdict::cheat, "CHEAT"},
                                                  {Verdict::build_failed, "BUILD FAILED"},
                                                  {Verdict::environment, "ENVIRONMENT"},
                                                  {Verdict::timeout, "TIMEOUT"},
                                                  {Verdict::budget, "BUDGET"},
                                                  {Verdict::missed, "MISSED"},
                                                  {Verdict::kept, "KEPT"},
                                                  {Verdict::dropped, "DROPPED"},
                                                  {Verdict::refused, "REFUSED"},
                                                  {Verdict::busy_machine, "BUSY MACHINE"},
                                                  {Verdict::interrupted, "INTERRUPTED"}};
constexpr std::span<const Word<Verdict>> words(Verdict) { return kVerdictWords; }

}  // namespace dent
