// SPDX-License-Identifier: MIT
// Is it fast? One shape: candidate and baseline side by side in random order, until the interval is narrow or
// the time box ends; then the timed outputs are checked.
#pragma once

#include <optional>

#include "gates/gate.h"
#include "gates/judging/oracle.h"
#include "gates/performance/timed_side.h"
#include "measure/sampler.h"
#include "predict/peaks.h"

namespace dent {

class PerformanceGate {
 public:
  PerformanceGate(Workshop& workshop, Oracle& oracle)
      : PerformanceGate(workshop, oracle, workshop.project().performance, Against::baseline) {}
  // `against`: what the other side is, for the records.
  PerformanceGate(Workshop& workshop, Oracle& oracle, PerformanceRules rules, Against against)
      : workshop_(workshop), oracle_(oracle), rules_(rules), against_(against) {}
  GateResult run(Worker& candidate, Worker& baseline, const Problem& problem, std::uint64_t seed,
                 const Progress& progress);

 private:
  std::optional<GateResult> check_timed_outputs(const TimedSide& side, const Problem& problem,
                                                const std::string& step);

  Workshop& workshop_;
  Oracle& oracle_;
  PerformanceRules rules_;
  Against against_;
};

// Over all shapes: geometric mean, verdict, and what follows.
GateResult summarize(const std::vector<record::Comparison>& comparisons, const PerformanceRules& rules);

// A result of the performance gate that no kernel can have on this GPU becomes a cheat: more operations than
// its units do, or, where caches are flushed, inputs read faster than memory delivers. `peaks` must be upper
// bounds.
void refuse_the_impossible(GateResult& result, const Problem& problem, const Peaks& peaks, bool flushed);

}  // namespace dent
