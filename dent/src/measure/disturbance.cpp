// SPDX-License-Identifier: MIT
#include "measure/disturbance.h"

#include <fmt/format.h>

#include <algorithm>

namespace dent {
namespace {

constexpr double kMostWaited = 0.99;  // of a kernel that was measured at all

}  // namespace

bool is_busy(const Disturbance& disturbance, const QuietRule& rule) {
  return !(disturbance.others <= rule.others * disturbance.processors) ||
         !(disturbance.waited <= rule.waited);
}

Doubt doubt_of(const Disturbance& disturbance) {
  const double waited = std::clamp(disturbance.waited, 0.0, kMostWaited);
  return {waited / (1 - waited), waited / (1 - waited)};
}

std::string busy_in_words(const Disturbance& disturbance) {
  return fmt::format(
      "busy machine: other programs had {:.1f} of {} processors, the kernels waited {:.0f} % of their time",
      disturbance.others, disturbance.processors, 100 * disturbance.waited);
}

}  // namespace dent
