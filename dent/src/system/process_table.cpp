// SPDX-License-Identifier: MIT
#include "system/process_table.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace dent {
namespace {

constexpr int kDeepest = 64;  // generations

}  // namespace

ProcessEntry process_entry(pid_t process) {
  ProcessEntry entry;
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return entry;
  // The line is "pid (name) state parent group ..."; the name may contain spaces and brackets.
  const auto open = line.find('('), close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return entry;
  entry.name = line.substr(open + 1, close - open - 1);
  std::istringstream(line.substr(close + 1)) >> entry.state >> entry.parent >> entry.group;
  return entry;
}

std::string name_of(pid_t process) { return process_entry(process).name; }

std::map<pid_t, ProcessEntry> all_processes() {
  std::map<pid_t, ProcessEntry> found;
  std::error_code ignored;
  for (const auto& folder : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string id = folder.path().filename();
    if (id.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto process = static_cast<pid_t>(std::stol(id));
    const ProcessEntry entry = process_entry(process);
    if (entry.state != '?') found[process] = entry;  // '?': it ended meanwhile
  }
  return found;
}

std::vector<pid_t> children_of(pid_t process) {
  const std::string id = std::to_string(process);
  std::vector<pid_t> children;
  if (std::ifstream file("/proc/" + id + "/task/" + id + "/children"); file) {
    for (pid_t child = 0; file >> child;) children.push_back(child);
    return children;
  }
  for (const auto& [child, entry] : all_processes()) {  // kernels without that file
    if (entry.parent == process) children.push_back(child);
  }
  return children;
}

pid_t number_in_cell(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream numbers(line.substr(6));
    pid_t number = 0;
    int depth = 0;
    while (numbers >> number) ++depth;
    return depth > 1 ? number : 0;
  }
  return 0;
}

bool all_threads_stopped(pid_t process) {
  std::error_code gone;
  bool any = false;
  const std::string tasks = "/proc/" + std::to_string(process) + "/task/";
  for (const auto& thread : std::filesystem::directory_iterator(tasks, gone)) {
    const auto id = static_cast<pid_t>(std::stol(thread.path().filename()));
    const char state = process_entry(id).state;
    if (state != 'T' && state != 't' && state != 'Z' && state != 'X' && state != '?') return false;
    any = any || state == 'T' || state == 't';
  }
  return any;
}

bool is_below(pid_t process, pid_t ancestor) {
  for (int depth = 0; depth < kDeepest && process > 1; ++depth) {
    process = process_entry(process).parent;
    if (process == ancestor) return true;
  }
  return false;
}

bool is_below(const std::map<pid_t, ProcessEntry>& all, pid_t process, pid_t ancestor) {
  for (int depth = 0; depth < kDeepest; ++depth) {
    const auto found = all.find(process);
    if (found == all.end()) return false;
    process = found->second.parent;
    if (process == ancestor) return true;
  }
  return false;
}

}  // namespace dent
