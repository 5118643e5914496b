// SPDX-License-Identifier: MIT
// What was found out about one call of a kernel, by which tool, and how far that can be trusted.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "records/quantities.h"

namespace dent {

struct Launch {
  std::string kernel;
  double ctas = 0, cta_threads = 0;
  double duration_us = 0;  // 0: not measured
};

struct Profile {
  std::string tool;                // "Nsight Compute 2025.3.1", "launch capture and clock", "perf", "clock"
  std::string tree;                // the file whose questions these quantities answer: "gpu.toml"
  std::string degraded{};          // why there are no counters; "" when there are
  std::string device{};            // "cuda", "cpu"
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

nlohmann::json to_json(const Profile& profile);

// "void softmax<64>(float const*)" -> "softmax"
std::string short_name(const std::string& kernel);

}  // namespace dent
