// SPDX-License-Identifier: MIT
// Turns an interval into a verdict.
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
// FASTER, SLOWER: the interval excludes 1, and its centre lies outside that range. The second condition keeps
// a small systematic error, such as the placement of two copies of one program in memory, from being reported
// as a gain. AMBIGUOUS: everything else, including a missing interval.
SpeedVerdict judge(const std::optional<Ratio>& ratio, double same_within);

// The verdict over several shapes, from their mean and their verdicts: FASTER or SLOWER only if at least one
// shape is.
SpeedVerdict judge_whole(const Ratio& mean, std::span<const SpeedVerdict> each, double same_within);

}  // namespace dent
