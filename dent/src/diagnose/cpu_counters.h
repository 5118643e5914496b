// SPDX-License-Identifier: MIT
// Hardware counters of another process, all its threads: perf_event_open where the system lets us, and its
// processor time everywhere.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "records/quantities.h"

namespace dent {

class CpuCounters {
 public:
  // From now on, over every thread that the process has now.
  explicit CpuCounters(pid_t process);
  ~CpuCounters();
  CpuCounters(const CpuCounters&) = delete;
  CpuCounters& operator=(const CpuCounters&) = delete;

  // "cpu_ns", "waited_ns" (its first thread was ready and had no processor), "instructions", "cycles",
  // "cache_misses", "branches", "branch_misses" since then. Those that the machine does not give are not
  // applicable, and say why.
  Quantities read() const;
  const std::string& refusal() const { return refusal_; }  // "" when there are hardware counters

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
