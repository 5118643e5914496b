// SPDX-License-Identifier: MIT
// Samples two kernels in alternation until the verdict is clear or the time box ends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "measure/comparison.h"
#include "measure/sample.h"
#include "measure/stop_rule.h"

namespace dent {

// Duration of one batch of calls, as the measured side read it from its own clock.
struct Timing {
  double ns = 0;  // of the whole batch
  std::optional<double> clock_mhz = std::nullopt;
  std::optional<double> waited_ns = std::nullopt;  // part spent waiting for a processor; see measure/sample.h
};
// Runs `calls` consecutive calls and times them. Flushing caches, fresh inputs and synchronisation are up to
// the function. It may throw; the sampler passes exceptions on.
using TimedRun = std::function<Timing(int calls)>;

struct SamplingProgress {
  int pairs = 0;
  int max_pairs = 0;
  double elapsed_s = 0;
  double time_box_s = 0;
  const char* stage = "";               // "warm-up", "sampling"
  const Comparison* at_look = nullptr;  // result of the last look; null before the first
};

struct SamplingPolicy {
  StopRule stop;
  ComparisonRule compare;
  double time_box_s = 10;            // for calibration, warm-up and sampling; doubled until there are
                                     // stop.min_pairs
  double warm_up_share = 0.2;        // of the time box, at most
  double warm_up_at_least_s = 0.05;  // since clocks rise slowly and look steady before they do
  int warm_up_window = 5;            // in samples; steady if the medians of two windows in a row ...
  double steady_within = 0.02;       // ... differ by at most this share
  double min_sample_ns = 200e3;      // shortest batch; a clock that ticks every 40 ns then adds 0.02 %
  int max_calls = 1 << 16;           // in one batch
  // Each call of a batch has its own memory, and its location makes a call faster or slower in every pair
  // alike. So a batch covers several locations: this many calls, or as many as last spread_ns.
  int spread_calls = 1;
  double spread_ns = 8e6;
  std::uint64_t seed = 0;  // for the order of the sides
  std::function<void(const SamplingProgress&)>
      progress;  // called before each pair; may throw to stop sampling
  // Called when a look reaches a verdict. If it returns false, sampling continues to the end of the time box,
  // since a short series can't show the phases of a busy machine. If not set, the machine counts as quiet.
  std::function<bool()> quiet;
  std::function<double()> now_s;  // the clock; if not set, measuring_clock_s
};

struct Sampling {
  std::vector<Pair> pairs;  // all pairs in order, including those that the comparison set aside
  Comparison comparison;    // at the last look; over all pairs if the time box ended before the first look
  StopReason stop = StopReason::time_box;
  int baseline_calls = 1;  // calls in a batch
  int candidate_calls = 1;
  int warm_up_pairs = 0;
  bool steady = false;  // false: warm-up ran out of time first
  double elapsed_s = 0;
};

Sampling sample_side_by_side(const TimedRun& baseline, const TimedRun& candidate,
                             const SamplingPolicy& policy);

}  // namespace dent
