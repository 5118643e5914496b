// SPDX-License-Identifier: MIT
// No switch here has a default: a cause, a verdict or an error that is added does not compile before it has
// its place (-Werror=switch).
#include "session/exit_code.h"

namespace dent {

Verdict verdict_of(Cause cause) {
  switch (cause) {
    case Cause::environment:
      return Verdict::environment;
    case Cause::build:
      return Verdict::build_failed;
    case Cause::incorrect:
      return Verdict::incorrect;
    case Cause::slower:
      return Verdict::slower;
    case Cause::regressed:
      return Verdict::regressed;
    case Cause::ambiguous:
      return Verdict::ambiguous;
    case Cause::cheat:
      return Verdict::cheat;
    case Cause::timeout:
      return Verdict::timeout;
    case Cause::budget:
      return Verdict::budget;
    case Cause::busy_machine:
      return Verdict::busy_machine;
  }
  throw Error(ErrorCode::internal, "a cause without a verdict");
}

ExitCode exit_code(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
    case Verdict::faster:
    case Verdict::same:
    case Verdict::kept:
      return ExitCode::ok;
    case Verdict::slower:
    case Verdict::dropped:
      return ExitCode::slower;
    case Verdict::regressed:
      return ExitCode::regressed;
    case Verdict::ambiguous:
      return ExitCode::ambiguous;
    case Verdict::incorrect:
      return ExitCode::incorrect;
    case Verdict::cheat:
      return ExitCode::cheat;
    case Verdict::build_failed:
      return ExitCode::build;
    case Verdict::environment:
      return ExitCode::environment;
    case Verdict::timeout:
      return ExitCode::timeout;
    case Verdict::budget:
      return ExitCode::budget;
    case Verdict::missed:
      return ExitCode::missed;
    case Verdict::busy_machine:
      return ExitCode::busy_machine;
    case Verdict::refused:
      return ExitCode::usage;
    case Verdict::interrupted:
      return ExitCode::interrupted;
  }
  throw Error(ErrorCode::internal, "a verdict without an exit code");
}

ExitCode exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid:
      return ExitCode::usage;
    case ErrorCode::environment:
      return ExitCode::environment;
    case ErrorCode::busy:
      return ExitCode::busy;
    case ErrorCode::internal:
      return ExitCode::internal;
  }
  throw Error(ErrorCode::internal, "an error without an exit code");
}

}  // namespace dent
