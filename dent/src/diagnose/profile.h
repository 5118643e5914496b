// SPDX-License-Identifier: MIT
// What a profiler found out about one call of a kernel, and how reliable it is.
#pragma once

#include <string>
#include <vector>

#include "records/diagnosis.h"

namespace dent {

struct Profile {
  std::string tool;        // "Nsight Compute 2025.3.1", "launch capture and clock", "perf", "clock"
  std::string tree;        // decision tree for these quantities: "gpu.toml"
  std::string degraded{};  // why there are no counters, or ""
  DeviceKind device = DeviceKind::cpu;
  int arch = 0;                    // compute capability
  std::vector<Launch> launches{};  // launches of the call
  std::string kernel{};            // kernel that the quantities describe: the longest one
  std::string limiter{};           // resource that limits its occupancy: "registers"
  Quantities quantities{};
  std::vector<std::string> absent{};  // requested counters that were not returned
  std::vector<std::string> notes{};
  std::string report{};     // artifact: the profiler's report
  double tool_seconds = 0;  // time in the profiler
  double seconds = 0;       // total time
};

// "void softmax<64>(float const*)" -> "softmax"
std::string short_name(const std::string& kernel);

}  // namespace dent
