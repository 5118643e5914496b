// SPDX-License-Identifier: MIT
#include "measure/clocks.h"

#include <algorithm>

namespace dent {
namespace {

std::optional<double> upper_decile_of_clocks(std::span<const Pair> pairs) {
  std::vector<double> readings;
  for (const Pair& pair : pairs) {
    for (const Sample* sample : {&pair.baseline, &pair.candidate}) {
      if (sample->clock_mhz) readings.push_back(*sample->clock_mhz);
    }
  }
  if (readings.empty()) return std::nullopt;
  // Uses the upper decile, not the maximum: one wrong reading must not make all others look lowered.
  const auto at = readings.begin() + static_cast<std::ptrdiff_t>((readings.size() - 1) * 9 / 10);
  std::nth_element(readings.begin(), at, readings.end());
  return *at;
}

}  // namespace

Sifted set_aside_slow_clocks(std::span<const Pair> pairs, const ClockRule& rule) {
  Sifted sifted;
  sifted.clock_mhz = rule.nominal_mhz ? rule.nominal_mhz : upper_decile_of_clocks(pairs);
  const double floor_mhz = sifted.clock_mhz.value_or(0) * rule.lowest_share;
  const auto lowered = [floor_mhz](const Sample& sample) {
    return sample.clock_mhz && !(*sample.clock_mhz >= floor_mhz);
  };
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (lowered(pairs[i].baseline) || lowered(pairs[i].candidate)) {
      sifted.aside.push_back(i);
    } else {
      sifted.kept.push_back(pairs[i]);
    }
  }
  return sifted;
}

}  // namespace dent
