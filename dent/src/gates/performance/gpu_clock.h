// SPDX-License-Identifier: MIT
// Which of a GPU's two clocks both sides of a comparison are timed by.
//
// Two events around a kernel read some microseconds more than the kernel takes. In a ratio of short kernels
// that is most of both times, and differences shrink. Calls behind one another in a graph have no such floor,
// but not every call can be captured.
#pragma once

#include <string>

#include "measure/sampler.h"
#include "records/comparison.h"

namespace dent {

// What a side's calls read, tried before anything is sampled.
struct ClockTrial {
  double ns = 0;               // of a call between two events
  double host_ns = 0;          // that a call costs the host
  double events_floor_ns = 0;  // what an empty kernel reads; 0: not known
  double graph_floor_ns = 0;   // the same in a graph
  std::string not_captured{};  // why the calls can't be in a graph; empty: they can
};

record::Clock choose_gpu_clock(const ClockTrial& candidate, const ClockTrial& opponent);

// Whether the GPU waits for the host between the events of a call, of either side: then what else the
// processors do is in its time too.
bool takes_the_hosts_time(const record::Clock& clock);

// How long a stretch has to be by that clock, and over how many places in memory it goes. `made`: whether a
// function makes the inputs of each call, which takes far longer than the call.
void sample_on_gpu(SamplingPolicy& policy, const record::Clock& clock, bool made);

}  // namespace dent
