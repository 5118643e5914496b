// SPDX-License-Identifier: MIT
// From an interval to a word.
#pragma once

#include <optional>
#include <string_view>

#include "measure/ratio.h"

namespace dent {

enum class SpeedVerdict { faster, slower, same, ambiguous };

// FASTER, SLOWER, SAME, AMBIGUOUS; parse throws Error for anything else.
std::string_view name(SpeedVerdict verdict);
SpeedVerdict parse_speed_verdict(std::string_view text);

// SAME: the whole interval lies within 1 / (1 + same_within) .. 1 + same_within.
// FASTER, SLOWER: the interval leaves out 1, and the centre lies beyond what counts as the same. The second
// condition keeps a bias that no statistics can see (where two copies of one program happen to lie in memory)
// from being sold as a gain.
// AMBIGUOUS: everything else, and no interval at all.
SpeedVerdict judge(const std::optional<Ratio>& ratio, double same_within);

}  // namespace dent
