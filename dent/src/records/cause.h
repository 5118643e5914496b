// SPDX-License-Identifier: MIT
// Why a gate failed. Each cause has a verdict and an exit code of its own: session/exit_code.h.
#pragma once

#include "base/words.h"

namespace dent {

enum class Cause {
  environment,  // something is missing on this machine, or what judges does not hold
  build,
  incorrect,  // wrong numbers, a crash, or something else than an answer
  slower,
  regressed,
  ambiguous,  // can't tell
  cheat,
  timeout,
  budget,
  busy_machine,  // nothing could be told of a speed, and other programs could be why
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
