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

// What keep() noticed besides the values, as a result; nothing when all is well.
std::optional<GateResult> misbehaviour(const protocol::Kept& kept, const std::string& step,
                                       const Problem& problem);
// Whether a worker has started a process that would go on while others are timed; it is killed.
std::optional<GateResult> left_behind(const std::string& step, const Problem& problem);
GateResult cheat(const std::string& name, const std::string& evidence, const std::string& step,
                 const Problem& problem);

}  // namespace dent
