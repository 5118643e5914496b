// SPDX-License-Identifier: MIT
#include "measure/sample.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "measure/interval.h"

namespace dent {

std::string_view name(Side side) { return side == Side::baseline ? "baseline" : "candidate"; }

std::optional<std::string> what_is_wrong(const Sample& sample) {
  // Conditions are negated so that NaN is caught too.
  if (!(sample.ns > 0) || !std::isfinite(sample.ns)) {
    return fmt::format("its time is {} ns; a time is a positive number", sample.ns);
  }
  if (sample.calls < 1) return fmt::format("it holds {} calls; at least one is needed", sample.calls);
  if (sample.clock_mhz && (!(*sample.clock_mhz > 0) || !std::isfinite(*sample.clock_mhz))) {
    return fmt::format("its clock is {} MHz; a clock is a positive number", *sample.clock_mhz);
  }
  if (sample.waited_ns && (!(*sample.waited_ns >= 0) || !std::isfinite(*sample.waited_ns))) {
    return fmt::format("its waiting time is {} ns; it must be a finite number of at least 0",
                       *sample.waited_ns);
  }
  return std::nullopt;
}

std::vector<double> log_ratios(std::span<const Pair> pairs) {
  std::vector<double> ratios;
  ratios.reserve(pairs.size());
  for (const Pair& pair : pairs) {
    for (Side side : {Side::baseline, Side::candidate}) {
      const Sample& sample = side == Side::baseline ? pair.baseline : pair.candidate;
      if (const auto wrong = what_is_wrong(sample)) {
        throw Error(ErrorCode::invalid, fmt::format("pair {}, {}: {}", ratios.size(), name(side), *wrong),
                    "check the clock of the code that timed this sample");
      }
    }
    ratios.push_back(std::log(pair.baseline.ns / pair.candidate.ns));
  }
  return ratios;
}

double median_ns(std::span<const Pair> pairs, Side side) {
  if (pairs.empty()) return 0;
  std::vector<double> times;
  times.reserve(pairs.size());
  for (const Pair& pair : pairs)
    times.push_back(side == Side::baseline ? pair.baseline.ns : pair.candidate.ns);
  return median(times);
}

}  // namespace dent
