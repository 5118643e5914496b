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
  pass,  // every step passed, and no speed was compared
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
  missed,        // dent optimize: target not reached, no more ideas
  kept,          // dent evaluate
  dropped,       // dent evaluate: not proved faster
  refused,       // dent evaluate: not exactly one change, or a forbidden one
  busy_machine,  // no verdict, possibly because of other programs
  interrupted,   // no verdict recorded yet; dent resume continues
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
