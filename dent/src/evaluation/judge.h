// SPDX-License-Identifier: MIT
// The trials of a candidate and the outcome that follows from them: build, correctness (smallest shape
// first), memory checker if it is due, performance against the incumbent, guard, confirmation. A pure
// function: it runs no kernel, and equal records lead to the same next trial or outcome, so that an
// interrupted evaluation can go on.
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
  std::size_t shape = 0;  // index; for correctness, screening and confirmation
  int start = 0;          // of both programs, counted from 1; for the confirmation
  bool operator==(const Trial&) const = default;
};
// "build", "correctness/tiny", "sanitize", "screening/tiny", "confirmation/2/tiny"
std::string name_of(const Trial& trial, std::span<const Shape> shapes);

// `ended`: results of the trials that this function has requested so far, in order. Leaves times in the
// outcome at 0.
std::variant<Trial, Outcome> judge(std::span<const GateResult> ended, const EvaluationRules& rules,
                                   std::span<const Shape> shapes);

// The gain that a performance trial found; nothing without an interval.
std::optional<ShapeGain> gain_of(const GateResult& measured);

}  // namespace dent
