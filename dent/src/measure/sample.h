// SPDX-License-Identifier: MIT
// Timed samples, and pairs of one sample of each side.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dent {

enum class Side { baseline, candidate };
std::string_view name(Side side);

// Time of a batch of `calls` consecutive calls.
struct Sample {
  double ns = 0;                                   // per call: the batch's time divided by `calls`
  int calls = 1;                                   // in the batch
  std::optional<double> clock_mhz = std::nullopt;  // the device's clock during the batch, if it can be read
  // Upper bound, within `ns`, of the time that threads of this side were ready to run but had no processor.
  // Nothing: unknown.
  std::optional<double> waited_ns = std::nullopt;
};

// One sample of each side, taken one right after the other: a slowdown of the machine that lasts longer than
// a pair affects both sides and cancels in their ratio.
struct Pair {
  Sample baseline;
  Sample candidate;
  bool candidate_first = false;  // the order is random for each pair
};

// Why a sample can't be a time (NaN, zero, negative, infinite, no calls); nothing if it can.
std::optional<std::string> what_is_wrong(const Sample& sample);

// log(baseline / candidate) of each pair: positive if the candidate was faster. Throws Error for the first
// sample that can't be a time, naming pair and side.
std::vector<double> log_ratios(std::span<const Pair> pairs);

// Median time of a call on one side, in ns; 0 for no pairs.
double median_ns(std::span<const Pair> pairs, Side side);

}  // namespace dent
