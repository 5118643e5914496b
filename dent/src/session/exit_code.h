// SPDX-License-Identifier: MIT
// How dent ends. dent/docs/dent.md has the table for scripts.
#pragma once

#include "base/error.h"
#include "records/cause.h"
#include "records/verdict.h"

namespace dent {

enum class ExitCode : int {
  ok = 0,
  internal = 1,     // a fault of dent's own
  usage = 2,        // arguments or manifest
  environment = 3,  // something is missing on this machine, or the disk is full
  build = 4,
  incorrect = 5,  // wrong numbers, a crash, or something else than an answer
  slower = 6,
  regressed = 7,  // slower than before
  ambiguous = 8,  // can't tell
  cheat = 9,
  timeout = 10,
  budget = 11,
  busy = 12,          // another dent works in this project
  missed = 13,        // dent optimize: the target was not reached, and there are no more ideas
  interrupted = 14,   // stopped from outside before its verdict: `dent resume` goes on
  busy_machine = 15,  // nothing could be told, and other programs could be why
};

Verdict verdict_of(Cause cause);
ExitCode exit_code(Verdict verdict);
ExitCode exit_code(ErrorCode code);
inline ExitCode exit_code(Cause cause) { return exit_code(verdict_of(cause)); }

}  // namespace dent
