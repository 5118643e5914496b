// SPDX-License-Identifier: MIT
// When there are enough samples.
//
// Whoever looks at the data after each sample and stops when it pleases finds a difference between any two
// things in the end. So the looks are few and fixed beforehand (the number of pairs doubles from one to the
// next), and each spends an equal part of alpha: the chance that any of their intervals misses is then at
// most alpha, however the sampling ends. Doubling costs little: at worst twice the samples, and with eight
// looks the intervals are 1.4 times as wide as a single look's.
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
  double precision = 0.01;  // go on until the interval is no wider than centre / and * (1 + precision)
};

// Numbers of pairs to look at: min_pairs, doubled until max_pairs, which is the last. Throws Error when the
// rule makes no sense.
std::vector<int> looks(const StopRule& rule);

// `rule` with this look's part of alpha.
ComparisonRule at_one_look(const ComparisonRule& rule, const StopRule& stop);

// A verdict other than AMBIGUOUS, and an interval that is narrow enough. One that says FASTER or SLOWER and
// reaches into what counts as the same may still end there: it goes on.
bool decided(const Comparison& comparison, const StopRule& rule, double same_within);

}  // namespace dent
