// SPDX-License-Identifier: MIT
#include "diagnose/ncu.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/error.h"
#include "diagnose/ncu_metrics.h"
#include "system/capture.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

constexpr int kOldest = 2022;  // first version with these metrics and options
constexpr int kNewest = 2025;  // latest version that was tested

bool runs(const fs::path& file) { return !file.empty() && access(file.c_str(), X_OK) == 0; }

fs::path in_path(const char* program) {
  const char* path = std::getenv("PATH");
  const std::string folders = path != nullptr ? path : "";
  for (std::size_t at = 0; at <= folders.size();) {
    const auto end = std::min(folders.find(':', at), folders.size());
    const fs::path file = fs::path(folders.substr(at, end - at)) / program;
    if (runs(file)) return file;
    at = end + 1;
  }
  return {};
}

fs::path newest_in_opt() {
  std::vector<fs::path> found;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator("/opt/nvidia/nsight-compute", problem)) {
    if (runs(entry.path() / "ncu")) found.push_back(entry.path() / "ncu");
  }
  return found.empty() ? fs::path() : *std::max_element(found.begin(), found.end());
}

fs::path look_for_ncu() {
  if (const char* chosen = std::getenv("DENT_NCU"); chosen != nullptr && *chosen != '\0') {
    if (runs(chosen)) return chosen;
    throw Error(ErrorCode::environment, fmt::format("DENT_NCU is \"{}\", which can't be run", chosen),
                "set it to Nsight Compute's program ncu, or unset it");
  }
  for (const fs::path& file : {in_path("ncu"), fs::path("/usr/local/cuda/bin/ncu"), newest_in_opt()}) {
    if (runs(file)) return file;
  }
  throw Error(
      ErrorCode::environment, "Nsight Compute (ncu) is not on this machine",
      "install it with the CUDA toolkit (package cuda-nsight-compute), or set DENT_NCU to where it is");
}

}  // namespace

NcuTool understand_version(const fs::path& program, const std::string& printed) {
  const auto at = printed.find("Version ");
  const std::string text =
      at == std::string::npos ? "" : printed.substr(at + 8, printed.find_first_of(" \n(", at + 8) - at - 8);
  int year = 0;
  if (text.empty() || std::from_chars(text.data(), text.data() + text.size(), year).ec != std::errc() ||
      year < 2018) {
    throw Error(ErrorCode::environment,
                fmt::format("{} does not print a version of Nsight Compute", program.string()),
                "set DENT_NCU to Nsight Compute's program ncu");
  }
  NcuTool tool{program, text};
  for (int dots = 0; const std::size_t i : {text.find('.'), text.find('.', text.find('.') + 1)}) {
    if (i == std::string::npos) break;
    if (++dots == 2) tool.version = text.substr(0, std::min(text.find('.', i + 1), text.size()));
  }
  if (year < kOldest) {
    throw Error(ErrorCode::environment,
                fmt::format("Nsight Compute {} is too old; dent needs {} or later", tool.version, kOldest),
                "install a newer CUDA toolkit, or set DENT_NCU to a newer ncu");
  }
  if (year > kNewest) {
    tool.note = fmt::format(
        "Nsight Compute {} is newer than the versions that dent was tested with (up to {}); dent still "
        "checks that every counter is returned",
        tool.version, kNewest);
  }
  return tool;
}

NcuTool find_ncu() {
  const fs::path program = look_for_ncu();
  const auto printed = capture({program.string(), "--version"}, 20);
  if (!printed) {
    throw Error(ErrorCode::environment, program.string() + " --version fails",
                "run it by hand to see why, or set DENT_NCU to another one");
  }
  return understand_version(program, *printed);
}

std::vector<std::string> ncu_prefix(const NcuTool& tool, const NcuRequest& request) {
  return {tool.program.string(),
          "--target-processes",
          "all",
          "--profile-from-start",
          "off",
          "--clock-control",
          "none",
          "--launch-count",
          std::to_string(request.most_launches),
          "--metrics",
          fmt::format("{}", fmt::join(ncu_metrics(request.arch), ",")),
          "--csv",
          "--page",
          "raw",
          "--print-units",
          "base",
          "--log-file",
          request.csv.string(),
          "--force-overwrite",
          "--export",
          request.report.string()};
}

std::vector<std::string> ncu_import(const NcuTool& tool, const fs::path& report) {
  return {tool.program.string(), "--import", report.string(), "--csv", "--page", "raw",
          "--print-units",       "base"};
}

std::optional<NcuTrouble> trouble_in(std::string_view text) {
  const auto says = [text](std::string_view words) { return text.find(words) != std::string_view::npos; };
  if (says("ERR_NVGPUCTRPERM")) {
    return NcuTrouble{"this machine allows only administrators to read GPU counters (ERR_NVGPUCTRPERM)",
                      "run dent as root, give the container CAP_SYS_ADMIN, or load the driver with "
                      "NVreg_RestrictProfilingToAdminUsers=0 (in /etc/modprobe.d, then reboot)",
                      true};
  }
  if (says("LibraryNotLoaded") || says("Failed to initialize the profiler")) {
    return NcuTrouble{"Nsight Compute can't access the GPU's counters (a sandbox, or an incompatible driver)",
                      "profile on a machine or in a container with direct access to the driver", true};
  }
  if (says("isn't supported") || says("is not supported on this device") || says("Unsupported GPU")) {
    return NcuTrouble{"this version of Nsight Compute does not know this GPU",
                      "install the Nsight Compute of the newest CUDA toolkit, or set DENT_NCU to it", true};
  }
  if (says("Another instance of the profiler") || says("profiler is already")) {
    return NcuTrouble{"another profiler is using the GPU's counters",
                      "end it (nsys, ncu, DCGM), then try again", true};
  }
  if (says("No kernels were profiled")) {
    return NcuTrouble{"no kernel was launched",
                      "check whether the call returns early for this shape or takes its "
                      "result from a cache: it must launch a kernel"};
  }
  return std::nullopt;
}

}  // namespace dent
