// SPDX-License-Identifier: MIT
#include "measure/verdict.h"

#include <array>
#include <string>
#include <utility>

#include "base/error.h"

namespace dent {
namespace {

constexpr std::array<std::pair<SpeedVerdict, std::string_view>, 4> kNames{{
    {SpeedVerdict::faster, "FASTER"},
    {SpeedVerdict::slower, "SLOWER"},
    {SpeedVerdict::same, "SAME"},
    {SpeedVerdict::ambiguous, "AMBIGUOUS"},
}};

}  // namespace

std::string_view name(SpeedVerdict verdict) {
  for (const auto& [value, text] : kNames) {
    if (value == verdict) return text;
  }
  throw Error(ErrorCode::internal, "a verdict without a name");
}

SpeedVerdict parse_speed_verdict(std::string_view text) {
  for (const auto& [value, known] : kNames) {
    if (known == text) return value;
  }
  throw Error(ErrorCode::invalid,
              "verdict is \"" + std::string(text) + "\"; known are FASTER, SLOWER, SAME and AMBIGUOUS");
}

SpeedVerdict judge(const std::optional<Ratio>& ratio, double same_within) {
  if (!ratio) return SpeedVerdict::ambiguous;
  const double high = 1 + same_within, low = 1 / high;
  if (ratio->interval.low >= low && ratio->interval.high <= high) return SpeedVerdict::same;
  if (ratio->interval.low > 1 && ratio->centre > high) return SpeedVerdict::faster;
  if (ratio->interval.high < 1 && ratio->centre < low) return SpeedVerdict::slower;
  return SpeedVerdict::ambiguous;
}

}  // namespace dent
