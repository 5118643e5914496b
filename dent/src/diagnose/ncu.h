// SPDX-License-Identifier: MIT
// Nsight Compute as a program: where it is, which one it is, how it is asked, and what its complaints mean.
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
  std::string note{};   // "newer than any that dent was tried with"; "" when it is a known one
};

// DENT_NCU, PATH, the CUDA toolkit, /opt/nvidia. Throws Error (environment) with the fix: none there, too
// old, or something that does not answer as ncu does.
NcuTool find_ncu();
// From what `ncu --version` prints.
NcuTool understand_version(const std::filesystem::path& program, const std::string& printed);

struct NcuRequest {
  int arch = 0;                  // compute capability
  std::filesystem::path report;  // gets the report that ncu-ui opens
  std::filesystem::path csv;     // gets the raw page
  int most_launches = 16;
};
// What to put in front of the program to profile. Only launches between cuProfilerStart and cuProfilerStop
// count; clocks stay as they are; caches are flushed before each pass.
std::vector<std::string> ncu_prefix(const NcuTool& tool, const NcuRequest& request);
std::vector<std::string> ncu_import(const NcuTool& tool, const std::filesystem::path& report);

// What ncu complains about, in its log or in the program's.
struct NcuTrouble {
  std::string what;
  std::string fix;
  bool no_counters = false;  // the machine refuses: the degraded mode is what is left
};
std::optional<NcuTrouble> trouble_in(std::string_view text);

}  // namespace dent
