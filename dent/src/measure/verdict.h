// SPDX-License-Identifier: MIT
// From an interval to a word.
#pragma once

#include <optional>
#include <span>

#include "base/words.h"
#include "measure/ratio.h"

namespace dent {

enum class SpeedVerdict { faster, slower, same, ambiguous };
inline constexpr Word<SpeedVerdict> kSpeedVerdictWords[] = {{SpeedVerdict::faster, "FASTER"},
                                                            {SpeedVerdict::slower, "SLOWER"},
                                                            {SpeedVerdict::same, "SAME"},
                                                            {SpeedVerdict::ambiguous, "AMBIGUOUS"}};
constexpr std::span<const Word<SpeedVerdict>> words(SpeedVerdict) { return kSpeedVerdictWords; }

// SAME: the whole interval lies within 1 / (1 + same_within) .. 1 + same_within.
// FASTER, SLOWER: the interval leaves out 1, and the centre lies beyond what counts as the same. The second
// condition keeps a bias that no statistics can see (where two copies of one program happen to lie in memory)
// from being sold as a gain.
// AMBIGUOUS: everything else, and no interval at all.
SpeedVerdict judge(const std::optional<Ratio>& ratio, double same_within);

// Over several shapes, from their mean and what was said of each: never FASTER or SLOWER unless one of them
// is.
SpeedVerdict judge_whole(const Ratio& mean, std::span<const SpeedVerdict> each, double same_within);

}  // namespace dent
