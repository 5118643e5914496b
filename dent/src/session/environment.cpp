// SPDX-License-Identifier: MIT
#include "session/environment.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"

namespace dent {
namespace {

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

// What a command prints, or nothing when it is not there, fails or takes longer than two seconds.
std::optional<std::string> output_of(const std::vector<std::string>& words) {
  std::string command = "timeout 2";
  for (const auto& word : words) command += " " + quoted(word);
  const auto close = [](FILE* pipe) { ::pclose(pipe); };
  std::unique_ptr<FILE, decltype(close)> pipe(::popen((command + " 2>/dev/null").c_str(), "r"), close);
  if (!pipe) return std::nullopt;
  std::string text;
  std::array<char, 4096> part{};
  while (const auto length = std::fread(part.data(), 1, part.size(), pipe.get()))
    text.append(part.data(), length);
  if (::pclose(pipe.release()) != 0) return std::nullopt;
  return trimmed(text);
}

// The value behind `key` and a colon in a file such as /proc/cpuinfo.
std::string field_of(const std::string& file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) {
      if (const auto colon = line.find(':'); colon != std::string::npos)
        return trimmed(line.substr(colon + 1));
    }
  }
  return {};
}

std::string cpu_model() {
  if (const auto model = field_of("/proc/cpuinfo", "model name"); !model.empty()) return model;
  // Arm has no names there; lscpu knows them by number.
  if (const auto table = output_of({"lscpu"})) {
    std::istringstream lines(*table);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("Model name:")) return trimmed(line.substr(line.find(':') + 1));
    }
  }
  return {};
}

record::Cpu cpu() {
  return {.model = cpu_model(),
          .cores = ::sysconf(_SC_NPROCESSORS_ONLN),
          .memory_bytes = ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE),
          .governor = trimmed(text_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
          .load_average = trimmed(text_of("/proc/loadavg"))};
}

// A number, or nothing: "[N/A]" where the driver does not know.
std::optional<double> number_in(const std::string& cell) {
  char* end = nullptr;
  const double number = std::strtod(cell.c_str(), &end);
  if (cell.empty() || *end != '\0') return std::nullopt;
  return number;
}

std::vector<record::Gpu> gpus() {
  std::vector<record::Gpu> found;
  const auto table = output_of({"nvidia-smi", "--format=csv,noheader,nounits",
                                "--query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit"});
  std::istringstream lines(table.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    const auto next = [&cells] {
      std::string cell;
      std::getline(cells, cell, ',');
      return trimmed(cell);
    };
    record::Gpu gpu;
    gpu.name = next();
    gpu.driver = next();
    gpu.memory_mib = number_in(next());
    gpu.max_clock_mhz = number_in(next());
    gpu.power_limit_w = number_in(next());
    found.push_back(std::move(gpu));
  }
  return found;
}

std::optional<record::Git> git(const std::filesystem::path& project) {
  const auto ask = [&project](std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "--no-optional-locks", "-C", project.string()});
    return output_of(words);
  };
  const auto head = ask({"rev-parse", "HEAD"});
  const auto branch = ask({"rev-parse", "--abbrev-ref", "HEAD"});
  const auto changes = ask({"status", "--porcelain"});
  if (!head && !branch && !changes) return std::nullopt;
  record::Git state{head.value_or(""), branch.value_or(""), {}};
  if (changes) state.dirty = !changes->empty();
  return state;
}

}  // namespace

record::Environment environment_snapshot(const std::filesystem::path& project) {
  record::Environment environment;
  utsname system{};
  if (::uname(&system) == 0) {
    environment.system = std::string(system.sysname) + " " + system.release;
    environment.machine = system.machine;
    environment.host = system.nodename;
  }
  environment.cpu = cpu();
  environment.gpus = gpus();
  environment.git = git(project);
  return environment;
}

std::string device_name(const record::Environment& environment, DeviceKind device) {
  return device == DeviceKind::cuda && !environment.gpus.empty() ? environment.gpus.front().name
                                                                 : environment.cpu.model;
}

std::vector<std::string> visible_gpus() {
  std::vector<std::string> found;
  const char* shown = std::getenv("CUDA_VISIBLE_DEVICES");
  if (shown != nullptr) {
    std::istringstream names(shown);
    for (std::string name; std::getline(names, name, ',');) found.push_back(trimmed(name));
    return found;
  }
  std::istringstream lines(
      output_of({"nvidia-smi", "--format=csv,noheader", "--query-gpu=index"}).value_or(""));
  for (std::string line; std::getline(lines, line);) found.push_back(trimmed(line));
  return found;
}

}  // namespace dent
