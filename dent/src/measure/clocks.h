// SPDX-License-Identifier: MIT
// Samples taken while the device ran below its clock say something about heat and power, not about a kernel.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "measure/sample.h"

namespace dent {

struct ClockRule {
  std::optional<double>
      nominal_mhz;             // what the device should run at; without it the upper decile of the readings
  double lowest_share = 0.95;  // of that clock; below it a sample is set aside
};

struct Sifted {
  std::vector<Pair> kept;           // in the order taken
  std::vector<std::size_t> aside;   // indices of pairs with a sample on a lowered clock
  std::optional<double> clock_mhz;  // the clock that was compared with, when any sample has a reading
};

// A pair is set aside as a whole. Pairs without readings are kept.
Sifted set_aside_slow_clocks(std::span<const Pair> pairs, const ClockRule& rule);

}  // namespace dent
