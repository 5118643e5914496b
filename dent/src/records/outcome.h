// SPDX-License-Identifier: MIT
// What became of a candidate.
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
  bool busy = false;  // the machine, meanwhile
  bool operator==(const ShapeGain&) const = default;
};

struct Outcome {
  bool kept = false;
  TrialStage stage = TrialStage::refused;  // where it ended
  std::optional<Cause> cause{};            // of a failure, or of a machine that was too busy to tell
  std::string reason;                      // one line, for people
  std::string next{};
  std::string last_words{};     // of the compiler or the worker
  std::optional<Ratio> gain{};  // over the incumbent, geometric mean over shapes; of the confirmation if any
  std::vector<ShapeGain> shapes{};
  double build_s = 0;    // seconds: compiling,
  double kernel_s = 0;   // running the kernel, the incumbent and the reference,
  double elapsed_s = 0;  // and all in all
  bool operator==(const Outcome&) const = default;
};

// "kept: ...", "dropped at screening: ...", "not kept: the machine was too busy to tell (...)"
std::string in_words(const Outcome& outcome);

// Their geometric mean; there must be one.
Ratio mean_of(std::span<const ShapeGain> shapes);

void fields(Fields& f, ShapeGain& gain);
void fields(Fields& f, Outcome& outcome);

}  // namespace dent
