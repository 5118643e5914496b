// SPDX-License-Identifier: MIT
// Why a gate failed. session/exit_code.h maps each cause to a verdict and an exit code.
#pragma once

#include "base/words.h"

namespace dent {

enum class Cause {
  environment,  // the machine lacks something, or the baseline or reference is wrong
  build,
  incorrect,  // wrong numbers, a crash, or no valid answer
  slower,
  regressed,
  ambiguous,  // not clear whether faster or slower
  cheat,
  timeout,
  budget,
  busy_machine,  // no verdict about the speed, possibly because of other programs
};
inline constexpr Word<Cause> kCauseWords[] = {{Cause::environment, "environment"},
                                              {Cause::build, "build"},
                                              {Cause::incorrect, "incorrect"},
                                              {Cause::slower, "slower"},
                                              {Cause::regressed, "regressed"},
                                              {Cause::ambiguous, "ambiguous"},
                                              {Cause::cheat, "cheat"},
                                              {Cause::timeout, "timeout"},
                                              {Cause::budget, "budget"},
                                              {Cause::busy_machine, "busy machine"}};
constexpr std::span<const Word<Cause>> words(Cause) { return kCauseWords; }

}  // namespace dent
