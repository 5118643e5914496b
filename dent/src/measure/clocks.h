// SPDX-License-Identifier: MIT
// Sets aside samples taken while the device ran below its clock: they reflect heat and power, not the kernel.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "measure/sample.h"

namespace dent {

struct ClockRule {
  std::optional<double> nominal_mhz;  // the nominal clock; if not set, the readings' upper decile
  double lowest_share = 0.95;         // share of that clock below which a sample is set aside
};

struct Sifted {
  std::vector<Pair> kept;           // in the order taken
  std::vector<std::size_t> aside;   // indices of pairs in which one sample had a lowered clock
  std::optional<double> clock_mhz;  // the clock that readings were compared with; nothing without readings
};

// Sets aside whole pairs. Pairs without clock readings are kept.
Sifted set_aside_slow_clocks(std::span<const Pair> pairs, const ClockRule& rule);

}  // namespace dent
