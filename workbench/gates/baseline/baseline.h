// SPDX-License-Identifier: MIT
// Is what we compare with what it was? Measured before anything else, and held against the last time on this
// machine.
#pragma once

#include "gates/gate.h"
#include "gates/judging/oracle.h"

namespace dent {

class BaselineGate {
 public:
  // `record`: the file that keeps a project's baselines; `forget`: start over instead of comparing.
  BaselineGate(Workshop& workshop, std::filesystem::path record, bool forget)
      : workshop_(workshop), record_(std::move(record)), forget_(forget) {}
  GateResult run(Worker& baseline, const std::string& name, const std::string& machine, Oracle& oracle,
                 std::uint64_t seed, const Progress& progress);

 private:
  double fastest_ns(Worker& baseline, const Problem& problem, std::uint64_t seed, double seconds);

  Workshop& workshop_;
  std::filesystem::path record_;
  bool forget_;
};

}  // namespace dent
