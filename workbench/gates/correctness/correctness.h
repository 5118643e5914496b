// SPDX-License-Identifier: MIT
// Is it right? One shape: several fresh seeds, poisoned outputs, every element against the reference.
#pragma once

#include "gates/gate.h"
#include "gates/judging/oracle.h"

namespace dent {

class CorrectnessGate {
 public:
  CorrectnessGate(Workshop& workshop, Oracle& oracle) : workshop_(workshop), oracle_(oracle) {}
  GateResult run(Worker& candidate, const Problem& problem, std::uint64_t seed, const Progress& progress);

 private:
  Workshop& workshop_;
  Oracle& oracle_;
};

}  // namespace dent
