// SPDX-License-Identifier: MIT
// One candidate against the incumbent: build, correctness (tiny shape first), memory checker when it is due,
// performance side by side, guard, confirmation. Every trial is on disk before the next begins, and is not
// repeated when the loop goes on after it was killed.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "gates/judging/oracle.h"
#include "predict/peaks.h"
#include "evaluation/keep_rule.h"
#include "records/outcome.h"

namespace dent {

// Where trials are kept, by name: "build", "correctness/tiny", "sanitize", "screening/tiny",
// "confirmation/2/tiny".
class TrialBook {
 public:
  virtual ~TrialBook() = default;
  virtual std::optional<GateResult> find(const std::string& trial) const = 0;
  virtual void keep(const std::string& trial, const GateResult& result, double seconds) = 0;
};

struct EvaluationRules {
  KeepRule keep;
  double screening_alpha = 0.05;
  double confirmation_alpha = 0.001;
  bool sanitize = false;
};

// What the evaluation works with. `peaks`: upper bounds of the device, where they are known.
struct Stage {
  Workshop& workshop;
  Oracle& oracle;
  std::optional<Peaks> peaks;
};

// Both kernels have names and folders of their own. Times in the outcome are those of this call.
Outcome evaluate(const Stage& stage, const Kernel& candidate, const Kernel& incumbent,
                 const EvaluationRules& rules, TrialBook& book, const Progress& progress);

// One performance trial of `candidate` against `other`, with no rule that stops it; the ratio is in the
// result's "comparison" record.
GateResult measure_against(const Stage& stage, Worker& candidate, Worker& other, const Problem& problem,
                           double alpha, const Progress& progress, double share = 1);
std::optional<ShapeGain> gain_of(const GateResult& measured);

}  // namespace dent
