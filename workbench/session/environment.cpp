// SPDX-License-Identifier: MIT
#include "session/environment.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "records/json_text.h"
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

void put(nlohmann::json& json, const char* key, const std::string& value) {
  if (!value.empty()) json[key] = value;
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

nlohmann::json cpu() {
  nlohmann::json json;
  put(json, "model", cpu_model());
  json["cores"] = ::sysconf(_SC_NPROCESSORS_ONLN);
  json["memory_bytes"] = ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE);
  put(json, "governor", trimmed(text_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")));
  put(json, "load_average", trimmed(text_of("/proc/loadavg")));
  return json;
}

nlohmann::json gpus() {
  nlohmann::json found = nlohmann::json::array();
  const auto table = output_of({"nvidia-smi", "--format=csv,noheader,nounits",
                                "--query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit"});
  std::istringstream lines(table.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    nlohmann::json gpu;
    for (const char* key : {"name", "driver", "memory_mib", "max_clock_mhz", "power_limit_w"}) {
      std::string cell;
      std::getline(cells, cell, ',');
      cell = trimmed(cell);
      // The last three are numbers, or "[N/A]" where the driver does not know.
      if (key == std::string_view("name") || key == std::string_view("driver")) {
        put(gpu, key, cell);
      } else if (const auto number = parse_json(cell); number.is_number()) {
        gpu[key] = number;
      }
    }
    found.push_back(std::move(gpu));
  }
  return found;
}

nlohmann::json git(const std::filesystem::path& project) {
  nlohmann::json json;
  const auto ask = [&project](std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "--no-optional-locks", "-C", project.string()});
    return output_of(words);
  };
  if (const auto head = ask({"rev-parse", "HEAD"})) json["commit"] = *head;
  if (const auto branch = ask({"rev-parse", "--abbrev-ref", "HEAD"})) json["branch"] = *branch;
  if (const auto changes = ask({"status", "--porcelain"})) json["dirty"] = !changes->empty();
  return json;
}

}  // namespace

nlohmann::json environment_snapshot(const std::filesystem::path& project) {
  nlohmann::json json;
  utsname system{};
  if (::uname(&system) == 0) {
    json["system"] = std::string(system.sysname) + " " + system.release;
    json["machine"] = system.machine;
    json["host"] = system.nodename;
  }
  json["cpu"] = cpu();
  if (auto found = gpus(); !found.empty()) json["gpus"] = std::move(found);
  if (auto state = git(project); !state.empty()) json["git"] = std::move(state);
  return json;
}

}  // namespace dent
