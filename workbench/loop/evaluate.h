// SPDX-License-Identifier: MIT
// One candidate against the incumbent: build, correctness (tiny shape first), performance side by side,
// guard, confirmation. Every trial is on disk before the next begins, and is not repeated when the loop goes
// on.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "gates/gate.h"
#include "loop/outcome.h"
#include "project/project.h"

namespace dent {

class LoopWorkshop;

// Where trials are kept: "build", "correctness/tiny", "screening/tiny", "confirmation/tiny", "sanitize".
class TrialBook {
 public:
  virtual ~TrialBook() = default;
  virtual std::optional<nlohmann::json> find(const std::string& trial) const = 0;
  virtual void keep(const std::string& trial, const GateResult& result, double seconds) = 0;
};

struct EvaluationRules {
  double screening_alpha = 0.05;
  double confirmation_alpha = 0.001;  // corrected for the number of candidates that a loop may try
  double min_gain = 0.01;
  double shape_loss = 0.02;
  bool sanitize = false;
};

// `candidate` and `incumbent`: built kernels of one project, in folders of their own.
Outcome evaluate(LoopWorkshop& workshop, const Kernel& candidate, const Kernel& incumbent,
                 const EvaluationRules& rules, TrialBook& book, const Progress& progress);

}  // namespace dent
