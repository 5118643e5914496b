// SPDX-License-Identifier: MIT
// How much other programs had of the machine while it measured, and what that leaves of a measurement.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "measure/ratio.h"
#include "measure/sample.h"

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

// What other programs could have taken, all of it charged to one side: the ratio may be lower as if every
// wait for a processor had made the baseline's stretch longer, and higher as if it had made the candidate's.
// While a thread has its processor no other program has it, so that is all of their time that was taken from
// a kernel. Where a side's waiting is not known, all that other programs had in the whole time is put into
// that side's half of it. Threads of one kernel that wait for each other count as well: the bound is too wide
// then.
Doubt doubt_of(std::span<const Pair> pairs, double alpha, const Disturbance& disturbance);

// "busy machine: other programs had 1.4 of 2 processors, the kernels waited 34 % of their time"
std::string busy_in_words(const Disturbance& disturbance);

}  // namespace dent
