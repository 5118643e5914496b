// SPDX-License-Identifier: MIT
// One candidate against the incumbent: build, correctness (tiny shape first), memory checker when it is due,
// performance side by side, guard, confirmation. Knows no ledger and no git: whoever asks performs the
// trials, and may give back what is on record of one instead.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "evaluation/keep_rule.h"
#include "gates/gate.h"
#include "gates/judging/oracle.h"
#include "predict/peaks.h"
#include "records/outcome.h"

namespace dent {

struct EvaluationRules {
  KeepRule keep;
  double screening_alpha = 0.05;
  double confirmation_alpha = 0.001;
  bool sanitize = false;
};

// What an evaluation works with. `peaks`: upper bounds of the device, where they are known.
struct EvaluationContext {
  Workshop& workshop;
  Oracle& oracle;
  std::optional<Peaks> peaks;
};

// Performs a trial, or reads it back when it is on record. Names: "build", "correctness/tiny", "sanitize",
// "screening/tiny", "confirmation/2/tiny". A KernelFailed that the trial throws becomes a failed gate.
using PerformTrial =
    std::function<GateResult(const std::string& trial, const std::function<GateResult()>& gate)>;

// Both kernels have names and folders of their own. Times in the outcome are those of this call.
Outcome evaluate(const EvaluationContext& context, const Kernel& candidate, const Kernel& incumbent,
                 const EvaluationRules& rules, const PerformTrial& perform, const Progress& progress);

// One performance trial of `candidate` beside `other`, which `against` names, with no rule that stops it; the
// ratio is in the result's comparison.
GateResult measure_against(const EvaluationContext& context, Worker& candidate, Worker& other,
                           Against against, const Problem& problem, double alpha, const Progress& progress,
                           double share = 1);
std::optional<ShapeGain> gain_of(const GateResult& measured);

}  // namespace dent
