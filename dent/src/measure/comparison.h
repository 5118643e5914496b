// SPDX-License-Identifier: MIT
// Compares two kernels on one shape: the verdict and the numbers that it rests on.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/clocks.h"
#include "measure/ratio.h"
#include "measure/sample.h"
#include "measure/verdict.h"

namespace dent {

struct ComparisonRule {
  double alpha = 0.05;        // chance that the interval misses the true ratio
  double same_within = 0.01;  // ratios between 1 / 1.01 and 1.01 count as equal
  // If more than this share of pairs had a lowered clock, the other pairs don't represent the kernel.
  double most_aside = 0.5;
  ClockRule clock = {};
};

struct Comparison {
  SpeedVerdict verdict = SpeedVerdict::ambiguous;
  std::optional<Ratio> ratio;  // nothing: too few pairs for an interval
  std::string reason;          // one line, for people: what the verdict rests on
  double baseline_ns = 0;      // median over the kept pairs
  double candidate_ns = 0;
  std::size_t pairs = 0;           // kept pairs
  std::vector<std::size_t> aside;  // indices of the pairs set aside for their clocks
  double correlation_time = 1;     // in pairs; see measure/interval.h
  std::optional<double> clock_mhz;
};

// Throws Error for a sample that can't be a time.
Comparison compare(std::span<const Pair> pairs, const ComparisonRule& rule);

}  // namespace dent
