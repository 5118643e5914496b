// SPDX-License-Identifier: MIT
// Finds patterns that apply to a diagnosis, the most promising first.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "patterns/pattern.h"
#include "records/diagnosis.h"

namespace dent {

// What patterns are matched against.
struct Situation {
  std::string bottleneck;  // "" without a diagnosis
  std::string runner_up;
  Quantities quantities;
  DeviceKind device = DeviceKind::cpu;
  std::string op;  // name of the project's operator
  Family family = Family::other;
  std::vector<DType> dtypes{};  // types of the inputs; empty: unknown
  int arch = 0;                 // compute capability; 0: unknown
};
Situation situation_of(const record::Diagnosis& diagnosis);

// Whether the pattern is for this device, operator, type and architecture, regardless of symptoms.
bool applies(const Pattern& pattern, const Situation& situation);

struct PatternMatch {
  const Pattern* pattern = nullptr;
  double expected_gain = 1;  // from enough tries, otherwise the pattern's estimate
  std::string why;           // "few_ctas, and ctas 2 < sms 132"
};

// Sorted by expected gain; matches of the bottleneck precede those of the runner-up. The result points into
// `patterns`.
std::vector<PatternMatch> match(std::span<const Pattern> patterns, const Situation& situation);

// The matches as parts of a diagnosis record.
std::vector<record::PatternHint> hints(std::span<const PatternMatch> matches);

}  // namespace dent
