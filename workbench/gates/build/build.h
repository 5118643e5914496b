// SPDX-License-Identifier: MIT
// Does it build and load? Compiler output is kept, resources are held against limits, hashes are taken.
#pragma once

#include "gates/gate.h"
#include "gates/workshop.h"

namespace dent {

class BuildGate {
 public:
  BuildGate(Workshop& workshop, bool clean) : workshop_(workshop), clean_(clean) {}
  GateResult run(const Progress& progress) { return run(workshop_.project().kernel, progress); }
  GateResult run(const Kernel& kernel, const Progress& progress);

 private:
  Workshop& workshop_;
  bool clean_;
};

}  // namespace dent
