// SPDX-License-Identifier: MIT
// What was timed: samples, and pairs of them taken side by side.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dent {

enum class Side { baseline, candidate };
std::string_view name(Side side);

// One timed stretch of `calls` calls in a row.
struct Sample {
  double ns = 0;  // per call: the stretch divided by its calls
  int calls = 1;  // how many calls the stretch held
  std::optional<double> clock_mhz =
      std::nullopt;  // the device's clock during the stretch, where it can be read
  // Of `ns`, at most: how long threads of that side were ready to run and had no processor. Nothing: not
  // known.
  std::optional<double> waited_ns = std::nullopt;
};

// One sample of each side, taken one right after the other, so that whatever slows the machine down for
// longer than a pair lasts falls on both sides and leaves their ratio alone.
struct Pair {
  Sample baseline;
  Sample candidate;
  bool candidate_first = false;  // the order is drawn by lot for each pair
};

// Why a sample can't be a time (NaN, zero, negative, infinite, no calls), or nothing when it can.
std::optional<std::string> what_is_wrong(const Sample& sample);

// log(baseline / candidate) of each pair: positive where the candidate was faster. Throws Error at the first
// sample that can't be a time, naming pair and side.
std::vector<double> log_ratios(std::span<const Pair> pairs);

// Of one side's times, in ns per call; 0 for no pairs.
double median_ns(std::span<const Pair> pairs, Side side);

}  // namespace dent
