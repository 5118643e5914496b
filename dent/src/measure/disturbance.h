// SPDX-License-Identifier: MIT
// Processor time that other programs took during a measurement, and how far that can have changed the result.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "measure/ratio.h"
#include "measure/sample.h"

namespace dent {

struct Disturbance {
  int processors = 1;         // processors that this process may use
  double others = 0;          // average number of them that other programs used
  double waited = 0;          // share of their time in which the kernels' threads found no processor
  std::int64_t switches = 0;  // involuntary context switches of these threads
  bool operator==(const Disturbance&) const = default;
};

// A machine is busy if either limit is exceeded.
struct QuietRule {
  double others = 0.6;   // share of the processors; above it, the kernel may find none free
  double waited = 0.05;  // share of the kernels' time; fewer interruptions hardly move a median
};
bool is_busy(const Disturbance& disturbance, const QuietRule& rule = {});

// How far other programs can have moved the ratio. The lower end assumes that all waiting for a processor
// lengthened the baseline's samples, the upper end that it lengthened the candidate's. Waiting time is the
// right measure because a thread that has a processor loses nothing to other programs. If a side's waiting
// time is unknown, all processor time of other programs is charged to that side. Time in which threads of one
// kernel wait for each other counts too, so the bound may be too wide.
Doubt doubt_of(std::span<const Pair> pairs, double alpha, const Disturbance& disturbance);

// "busy machine: other programs had 1.4 of 2 processors, the kernels waited 34 % of their time"
std::string busy_in_words(const Disturbance& disturbance);

}  // namespace dent
