// SPDX-License-Identifier: MIT
// How much other programs had of the machine while it measured, and what that leaves of a measurement.
#pragma once

#include <cstdint>
#include <string>

#include "measure/ratio.h"

namespace dent {

struct Disturbance {
  int processors = 1;         // that could be used
  double others = 0;          // of them, how many other programs had, on average
  double waited = 0;          // share of the time in which threads of the two kernels were ready and had none
  std::int64_t switches = 0;  // times that one of those threads had to give its processor away
  bool operator==(const Disturbance&) const = default;
};

// Beyond either, a machine is busy.
struct QuietRule {
  double others = 0.6;   // of the processors: more leaves none for the kernel and for what wakes up beside it
  double waited = 0.05;  // of the kernels' time: fewer interruptions hardly move a median
};
bool is_busy(const Disturbance& disturbance, const QuietRule& rule = {});

// A kernel that has its processor for the share 1 - w takes 1 / (1 - w) of its time, and the two kernels need
// not be hit alike: one may have more threads, or shorter calls.
Doubt doubt_of(const Disturbance& disturbance);

// "busy machine: other programs had 1.4 of 2 processors, the kernels waited 34 % of their time"
std::string busy_in_words(const Disturbance& disturbance);

}  // namespace dent
