// SPDX-License-Identifier: MIT
#include "measure/verdict.h"

#include <algorithm>

namespace dent {

SpeedVerdict judge(const std::optional<Ratio>& ratio, double same_within) {
  if (!ratio) return SpeedVerdict::ambiguous;
  const double high = 1 + same_within, low = 1 / high;
  if (ratio->interval.low >= low && ratio->interval.high <= high) return SpeedVerdict::same;
  if (ratio->interval.low > 1 && ratio->centre > high) return SpeedVerdict::faster;
  if (ratio->interval.high < 1 && ratio->centre < low) return SpeedVerdict::slower;
  return SpeedVerdict::ambiguous;
}

SpeedVerdict judge_whole(const Ratio& mean, std::span<const SpeedVerdict> each, double same_within) {
  const SpeedVerdict verdict = judge(mean, same_within);
  const bool claims = verdict == SpeedVerdict::faster || verdict == SpeedVerdict::slower;
  if (claims && std::ranges::find(each, verdict) == each.end()) return SpeedVerdict::ambiguous;
  return verdict;
}

}  // namespace dent
