// SPDX-License-Identifier: MIT
#include "report/clock_words.h"

#include <fmt/format.h>

namespace dent {

std::string clock_in_words(const record::Clock& clock) {
  const auto us = [](double ns) { return fmt::format("{:.2f} us", ns / 1e3); };
  std::string text(name(clock.by));
  text += clock.floor_ns > 0 ? ": an empty kernel reads " + us(clock.floor_ns) : ": its floor is not known";
  if (clock.candidate_host_ns > 0) text += "; a call costs the host " + us(clock.candidate_host_ns);
  if (clock.baseline_host_ns > 0) text += ", the baseline's " + us(clock.baseline_host_ns);
  if (!clock.why.empty()) text += "; " + clock.why;
  return text;
}

}  // namespace dent
