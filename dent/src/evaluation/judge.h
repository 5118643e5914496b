// SPDX-License-Identifier: MIT
// What a candidate goes through, trial by trial, and what that makes of it: build, correctness (smallest
// shape first), memory checker when it is due, performance side by side with the incumbent, guard,
// confirmation. A pure function: no kernel runs here, and what is on record of an evaluation leads to the
// same next trial, or the same end, as when it was new.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "evaluation/keep_rule.h"
#include "gates/result.h"
#include "operators/problem.h"
#include "records/outcome.h"

namespace dent {

struct EvaluationRules {
  KeepRule keep;
  double screening_alpha = 0.05;
  double confirmation_alpha = 0.001;
  bool sanitize = false;
};

struct Trial {
  TrialStage stage = TrialStage::build;
  std::size_t shape = 0;  // index; of correctness, screening and confirmation
  int start = 0;          // of both programs, counted from 1; of the confirmation
  bool operator==(const Trial&) const = default;
};
// "build", "correctness/tiny", "sanitize", "screening/tiny", "confirmation/2/tiny"
std::string name_of(const Trial& trial, std::span<const Shape> shapes);

// `ended`: the trials so far, in the order in which this function has asked for them. Times in the outcome
// are left at 0.
std::variant<Trial, Outcome> judge(std::span<const GateResult> ended, const EvaluationRules& rules,
                                   std::span<const Shape> shapes);

// What a performance trial says; nothing when it has no interval.
std::optional<ShapeGain> gain_of(const GateResult& measured);

}  // namespace dent
