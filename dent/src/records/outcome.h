// SPDX-License-Identifier: MIT
// The result of trying a candidate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/ratio.h"
#include "records/cause.h"
#include "records/fields.h"

namespace dent {

// Where the trial of a candidate ended.
enum class TrialStage { refused, build, correctness, sanitize, screening, guard, confirmation, kept };
inline constexpr Word<TrialStage> kTrialStageWords[] = {
    {TrialStage::refused, "refused"},           {TrialStage::build, "build"},
    {TrialStage::correctness, "correctness"},   {TrialStage::sanitize, "sanitize"},
    {TrialStage::screening, "screening"},       {TrialStage::guard, "guard"},
    {TrialStage::confirmation, "confirmation"}, {TrialStage::kept, "kept"}};
constexpr std::span<const Word<TrialStage>> words(TrialStage) { return kTrialStageWords; }

struct ShapeGain {
  std::string shape;
  Ratio ratio;  // incumbent time / candidate time
  double incumbent_ns = 0;
  double candidate_ns = 0;
  double weight = 1;  // in the mean over shapes
  bool busy = false;  // whether the machine was busy meanwhile
  bool operator==(const ShapeGain&) const = default;
};

struct Outcome {
  bool kept = false;
  TrialStage stage = TrialStage::refused;  // where the trial ended
  std::optional<Cause> cause{};            // of a failure, or busy_machine
  std::string reason;                      // one line
  std::string next{};
  std::string last_words{};     // end of the output of the compiler or the worker
  std::optional<Ratio> gain{};  // geometric mean over shapes; of the confirmation if any
  std::vector<ShapeGain> shapes{};
  double build_s = 0;    // seconds of compiling
  double kernel_s = 0;   // seconds of running the kernel, the incumbent and the reference
  double elapsed_s = 0;  // seconds in total
  bool operator==(const Outcome&) const = default;
};

// "kept: ...", "dropped at screening: ...", "not kept: the machine was too busy to tell (...)"
std::string in_words(const Outcome& outcome);

// Geometric mean over `shapes`, which must not be empty.
Ratio mean_of(std::span<const ShapeGain> shapes);

void fields(Fields& f, ShapeGain& gain);
void fields(Fields& f, Outcome& outcome);

}  // namespace dent
