// SPDX-License-Identifier: MIT
#include "session/exit_code.h"

namespace dent {

ExitCode exit_code(Cause cause) {
  switch (cause) {
    case Cause::none:
      return ExitCode::ok;
    case Cause::environment:
      return ExitCode::environment;
    case Cause::build:
      return ExitCode::build;
    case Cause::incorrect:
      return ExitCode::incorrect;
    case Cause::slower:
      return ExitCode::slower;
    case Cause::regressed:
      return ExitCode::regressed;
    case Cause::ambiguous:
      return ExitCode::ambiguous;
    case Cause::cheat:
      return ExitCode::cheat;
    case Cause::timeout:
      return ExitCode::timeout;
    case Cause::budget:
      return ExitCode::budget;
  }
  return ExitCode::internal;
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
  return ExitCode::internal;
}

std::string_view verdict_name(Cause cause) {
  switch (cause) {
    case Cause::environment:
      return "ENVIRONMENT";
    case Cause::build:
      return "BUILD FAILED";
    case Cause::incorrect:
      return "INCORRECT";
    case Cause::slower:
      return "SLOWER";
    case Cause::ambiguous:
      return "AMBIGUOUS";
    case Cause::cheat:
      return "CHEAT";
    case Cause::timeout:
      return "TIMEOUT";
    case Cause::budget:
      return "BUDGET";
    case Cause::none:
    case Cause::regressed:
      return "";
  }
  return "";
}

}  // namespace dent
