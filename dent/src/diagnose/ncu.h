// SPDX-License-Identifier: MIT
// Runs Nsight Compute: finds the program, checks its version, builds its command line, explains its errors.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dent {

struct NcuTool {
  std::filesystem::path program;
  std::string version;  // "2025.3.1"
  std::string note{};   // a warning about an untested version, or ""
};

// Searches DENT_NCU, PATH, the CUDA toolkit and /opt/nvidia. Throws Error (environment) with a remedy if
// there is none, it is too old, or it does not answer like ncu.
NcuTool find_ncu();
// Parses the output of `ncu --version`.
NcuTool understand_version(const std::filesystem::path& program, const std::string& printed);

struct NcuRequest {
  int arch = 0;                  // compute capability
  std::filesystem::path report;  // path of the report for ncu-ui
  std::filesystem::path csv;     // path of the raw page as CSV
  int most_launches = 16;
};
// Arguments that precede the program to profile. Only launches between cuProfilerStart and cuProfilerStop are
// profiled; clocks are not changed; caches are flushed before each pass.
std::vector<std::string> ncu_prefix(const NcuTool& tool, const NcuRequest& request);
std::vector<std::string> ncu_import(const NcuTool& tool, const std::filesystem::path& report);

// An error that ncu printed, in its log or in the program's.
struct NcuTrouble {
  std::string what;
  std::string fix;
  bool no_counters = false;  // no counters on this machine: use the degraded mode
};
std::optional<NcuTrouble> trouble_in(std::string_view text);

}  // namespace dent
