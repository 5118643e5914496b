// SPDX-License-Identifier: MIT
// Takes samples of two kernels side by side until the question is answered or the time is up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "measure/comparison.h"
#include "measure/sample.h"
#include "measure/stop_rule.h"

namespace dent {

// What one stretch of calls took, as the side that ran it read it from its clock.
struct Timing {
  double ns = 0;  // the whole stretch
  std::optional<double> clock_mhz = std::nullopt;
  std::optional<double> waited_ns = std::nullopt;  // of it, for a processor; see measure/sample.h
};
// Runs `calls` calls in a row and times them. Whatever else is to happen around them (flushing caches, fresh
// inputs, synchronising) is its business. May throw; the sampler lets it through.
using TimedRun = std::function<Timing(int calls)>;

struct SamplingProgress {
  int pairs = 0;
  int max_pairs = 0;
  double elapsed_s = 0;
  double time_box_s = 0;
  const char* stage = "";               // "warm-up", "sampling"
  const Comparison* at_look = nullptr;  // the last look's result, when there was one
};

struct SamplingPolicy {
  StopRule stop;
  ComparisonRule compare;
  double time_box_s = 10;      // for everything: finding the batch, warming up, sampling; up to twice as long
                               // until there are stop.min_pairs
  double warm_up_share = 0.2;  // of the time box, at most
  double warm_up_at_least_s = 0.05;  // clocks take a while to rise, and look steady until they do
  int warm_up_window = 5;            // steady: the medians of two windows in a row ...
  double steady_within = 0.02;       // ... differ by no more than this, on both sides
  double min_sample_ns = 200e3;  // a stretch holds as many calls as it takes to last this long. A clock that
                                 // ticks every 40 ns then adds 0.02 %
  int max_calls = 1 << 16;       // in one stretch
  // Each call of a stretch has memory of its own. Where that lies makes the call faster or slower, the same
  // in every pair, so a stretch goes over several places: so many calls, or as many as last so long.
  int spread_calls = 1;
  double spread_ns = 8e6;
  std::uint64_t seed = 0;  // of the order in which the sides run
  std::function<void(const SamplingProgress&)>
      progress;  // called before each pair; may throw to stop everything
  // Asked when a look decides. A machine that is not quiet goes in phases, which a short series can't see:
  // then sampling goes on to the time box. Without it the machine counts as quiet.
  std::function<bool()> quiet;
  std::function<double()> now_s;  // without it measuring_clock_s
};

struct Sampling {
  std::vector<Pair> pairs;  // every pair, in order, also those that the comparison set aside
  Comparison comparison;    // at the last look, or of all pairs when the time box ended before the first
  StopReason stop = StopReason::time_box;
  int baseline_calls = 1;  // in a stretch
  int candidate_calls = 1;
  int warm_up_pairs = 0;
  bool steady = false;  // false: the warm-up's time was over first
  double elapsed_s = 0;
};

Sampling sample_side_by_side(const TimedRun& baseline, const TimedRun& candidate,
                             const SamplingPolicy& policy);

}  // namespace dent
