// SPDX-License-Identifier: MIT
// Is this machine ready? Every check says what it found and, where that is not enough, what to do.
#pragma once

#include "gates/preflight/checks.h"

namespace dent {

class PreflightGate {
 public:
  explicit PreflightGate(Workshop& workshop) : workshop_(workshop) {}
  GateResult run(const Progress& progress);

 private:
  Workshop& workshop_;
};

}  // namespace dent
