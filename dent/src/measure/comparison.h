// SPDX-License-Identifier: MIT
// Two kernels on one shape: the verdict and everything it rests on.
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
  double alpha = 0.05;        // the interval may miss once in 20
  double same_within = 0.01;  // ratios between 1 / 1.01 and 1.01 are the same
  // With more than this share of pairs on a lowered clock the rest is no sample of the kernel any more.
  double most_aside = 0.5;
  ClockRule clock = {};
};

struct Comparison {
  SpeedVerdict verdict = SpeedVerdict::ambiguous;
  std::optional<Ratio> ratio;  // nothing: too few pairs for an interval
  std::string reason;          // one line, for people: why this verdict
  double baseline_ns = 0;      // medians of the pairs that were kept
  double candidate_ns = 0;
  std::size_t pairs = 0;           // that were kept
  std::vector<std::size_t> aside;  // indices of the pairs that were set aside for their clocks
  double correlation_time = 1;     // pairs in a row that say the same; see measure/interval.h
  std::optional<double> clock_mhz;
};

// Throws Error when a sample can't be a time.
Comparison compare(std::span<const Pair> pairs, const ComparisonRule& rule);

}  // namespace dent
