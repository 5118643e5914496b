// SPDX-License-Identifier: MIT
// Is it fast? One shape: candidate and baseline side by side in random order, until the interval is narrow or
// the time box ends; then the timed outputs are checked.
#pragma once

#include <optional>

#include "gates/gate.h"
#include "gates/judging/oracle.h"
#include "gates/performance/timed_side.h"
#include "measure/sampler.h"

namespace dent {

class PerformanceGate {
 public:
  PerformanceGate(Workshop& workshop, Oracle& oracle)
      : PerformanceGate(workshop, oracle, workshop.project().performance) {}
  PerformanceGate(Workshop& workshop, Oracle& oracle, PerformanceRules rules)
      : workshop_(workshop), oracle_(oracle), rules_(rules) {}
  GateResult run(Worker& candidate, Worker& baseline, const Problem& problem, std::uint64_t seed,
                 const Progress& progress);

 private:
  std::optional<GateResult> check_timed_outputs(const TimedSide& side, const Problem& problem,
                                                const std::string& step);

  Workshop& workshop_;
  Oracle& oracle_;
  PerformanceRules rules_;
};

// Over all shapes: geometric mean, verdict, and what follows. `comparisons`: the records of that kind.
GateResult summarize(const std::vector<nlohmann::json>& comparisons, const PerformanceRules& rules);

}  // namespace dent
