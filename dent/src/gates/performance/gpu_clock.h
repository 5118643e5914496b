// SPDX-License-Identifier: MIT
// Chooses which of a GPU's two clocks times both sides of a comparison.
//
// Two events around a kernel read some microseconds more than the kernel takes. For short kernels that is
// most of both times and brings their ratio closer to 1. Consecutive calls in one CUDA graph have almost no
// such overhead, but not every call can be captured.
#pragma once

#include <string>

#include "measure/sampler.h"
#include "records/comparison.h"

namespace dent {

// Trial times of one side, taken before sampling.
struct ClockTrial {
  double ns = 0;               // time of a call between two events
  double host_ns = 0;          // host time per call
  double events_floor_ns = 0;  // what events read for an empty kernel; 0: not known
  double graph_floor_ns = 0;   // what a graph reads per empty kernel
  std::string not_captured{};  // why calls can't be captured in a graph; empty: they can
};

record::Clock choose_gpu_clock(const ClockTrial& candidate, const ClockTrial& opponent);

// Whether the GPU waits for the host between the events of a call on either side. If so, other programs on
// the processors change the measured time.
bool takes_the_hosts_time(const record::Clock& clock);

// Sets how long a batch must be by that clock, and how many memory locations it covers. `made`: whether a
// Python function makes the inputs of each call, which takes far longer than the call.
void sample_on_gpu(SamplingPolicy& policy, const record::Clock& clock, bool made);

}  // namespace dent
