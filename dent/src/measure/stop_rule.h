// SPDX-License-Identifier: MIT
// When to stop sampling.
//
// Testing after every sample and stopping at the first clear result would find a difference between any two
// kernels eventually. So the number of looks is small and fixed in advance (the number of pairs doubles from
// one look to the next), and each look uses an equal part of alpha: the chance that any of their intervals
// misses is then at most alpha, wherever sampling stops. Doubling costs at most twice the samples, and with
// eight looks the intervals are 1.4 times as wide as for a single look.
#pragma once

#include <vector>

#include "base/words.h"
#include "measure/comparison.h"

namespace dent {

enum class StopReason { decided, time_box, sample_cap };
inline constexpr Word<StopReason> kStopReasonWords[] = {{StopReason::decided, "decided"},
                                                        {StopReason::time_box, "time box"},
                                                        {StopReason::sample_cap, "sample cap"}};
constexpr std::span<const Word<StopReason>> words(StopReason) { return kStopReasonWords; }

struct StopRule {
  int min_pairs = 32;  // fewer can't show how correlated they are
  int max_pairs = 2048;
  double precision = 0.01;  // sample until the interval lies within centre / and * (1 + precision)
};

// Numbers of pairs at which to look: min_pairs, doubled up to max_pairs, which is the last. Throws Error for
// an invalid rule.
std::vector<int> looks(const StopRule& rule);

// `rule` with the part of alpha that one look may use.
ComparisonRule at_one_look(const ComparisonRule& rule, const StopRule& stop);

// Whether sampling may stop: the verdict is not AMBIGUOUS and the interval is narrow enough. FASTER and
// SLOWER also need an interval outside `same_within`, because more samples could still turn them into SAME.
bool decided(const Comparison& comparison, const StopRule& rule, double same_within);

}  // namespace dent
