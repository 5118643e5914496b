// SPDX-License-Identifier: MIT
// Processor time used by us and by other programs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>

namespace dent {

// Counters that only grow; only the difference between two readings has a meaning. A counter that the system
// does not provide stays 0.
struct ProcessorUse {
  double at_s = 0;            // time of the reading, by the steady clock
  int processors = 1;         // processors that we may use
  double busy_s = 0;          // use of those by all programs, including time that a hypervisor took
  double ours_s = 0;          // by this process and by the given groups
  double ran_s = 0;           // running time of the groups' threads
  double waited_s = 0;        // time in which the groups' threads were ready but had no processor
  std::int64_t switches = 0;  // involuntary context switches of the groups' threads
};

// `groups`: leaders of the process groups that belong to us.
ProcessorUse processor_use(std::span<const pid_t> groups);

}  // namespace dent
