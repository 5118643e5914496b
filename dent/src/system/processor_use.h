// SPDX-License-Identifier: MIT
// Who used the processors: we, or somebody else.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>

namespace dent {

// Counters that only grow: what counts is how they differ between two moments. What the system does not tell
// stays 0.
struct ProcessorUse {
  double at_s = 0;            // when, by the steady clock
  int processors = 1;         // that we may use
  double busy_s = 0;          // of those, by everyone, and what a hypervisor gave to others
  double ours_s = 0;          // by this process, and by those of the groups asked about
  double ran_s = 0;           // threads of the groups, on a processor
  double waited_s = 0;        // threads of the groups, ready to run, on none
  std::int64_t switches = 0;  // times that one of them had to give its processor away
};

// `groups`: of processes that belong to us, by their leaders.
ProcessorUse processor_use(std::span<const pid_t> groups);

}  // namespace dent
