// SPDX-License-Identifier: MIT
// Which patterns speak to a diagnosis, the most promising first.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "patterns/pattern.h"
#include "records/diagnosis.h"

namespace dent {

// What a pattern is held against.
struct Situation {
  std::string bottleneck;  // "" when there is no diagnosis
  std::string runner_up;
  Quantities quantities;
  DeviceKind device = DeviceKind::cpu;
  std::string op;  // the project's operator
  Family family = Family::other;
  std::vector<DType> dtypes{};  // of its inputs; empty: not known
  int arch = 0;                 // compute capability; 0: not known
};
Situation situation_of(const record::Diagnosis& diagnosis);

// Whether it is for this device, operator, type and architecture at all, whatever the symptoms.
bool applies(const Pattern& pattern, const Situation& situation);

struct PatternMatch {
  const Pattern* pattern = nullptr;
  double expected_gain = 1;  // from evidence where there is enough of it, else as the pattern says
  std::string why;           // "few_ctas, and ctas 2 < sms 132"
};

// In order of expected gain; a match of the bottleneck goes before one of the runner-up. Points into
// `patterns`.
std::vector<PatternMatch> match(std::span<const Pattern> patterns, const Situation& situation);

// As a diagnosis has them on record.
std::vector<record::PatternHint> hints(std::span<const PatternMatch> matches);

}  // namespace dent
