// SPDX-License-Identifier: MIT
// Counters of all threads of another process: hardware counters by perf_event_open if the system allows it,
// and processor time in any case.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "records/quantities.h"

namespace dent {

class CpuCounters {
 public:
  // Starts counting, for all threads that the process has now.
  explicit CpuCounters(pid_t process);
  ~CpuCounters();
  CpuCounters(const CpuCounters&) = delete;
  CpuCounters& operator=(const CpuCounters&) = delete;

  // Counts since construction: "cpu_ns", "waited_ns" (its first thread was ready but had no processor),
  // "instructions", "cycles", "cache_misses", "branches", "branch_misses". Those that the machine does not
  // provide are not applicable, with the reason.
  Quantities read() const;
  const std::string& refusal() const { return refusal_; }  // "" if there are hardware counters

 private:
  struct Counter {
    const char* name;
    int descriptor;
  };
  pid_t process_;
  double cpu_ns_at_start_ = -1;
  double waited_ns_at_start_ = 0;
  std::vector<Counter> counters_;
  std::string refusal_;
};

}  // namespace dent
