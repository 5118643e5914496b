// SPDX-License-Identifier: MIT
// What was found out about one call of a kernel, by which tool, and how far that can be trusted.
#pragma once

#include <string>
#include <vector>

#include "records/diagnosis.h"

namespace dent {

struct Profile {
  std::string tool;        // "Nsight Compute 2025.3.1", "launch capture and clock", "perf", "clock"
  std::string tree;        // the file whose questions these quantities answer: "gpu.toml"
  std::string degraded{};  // why there are no counters; "" when there are
  DeviceKind device = DeviceKind::cpu;
  int arch = 0;                    // compute capability
  std::vector<Launch> launches{};  // of the call
  std::string kernel{};            // the one that the quantities are of: the longest
  std::string limiter{};           // of its occupancy: "registers"
  Quantities quantities{};
  std::vector<std::string> absent{};  // counters that were asked for and did not come back
  std::vector<std::string> notes{};
  std::string report{};     // artifact
  double tool_seconds = 0;  // in the profiler's hands, of
  double seconds = 0;       // all in all
};

// "void softmax<64>(float const*)" -> "softmax"
std::string short_name(const std::string& kernel);

}  // namespace dent
