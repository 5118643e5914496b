// SPDX-License-Identifier: MIT
#include "system/strays.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "system/process.h"

namespace dent {
namespace {

struct Entry {
  std::string name;
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
};

std::map<pid_t, Entry> all_processes() {
  std::map<pid_t, Entry> found;
  std::error_code ignored;
  for (const auto& folder : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string id = folder.path().filename();
    if (id.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(folder.path() / "stat");
    std::string line;
    if (!std::getline(file, line)) continue;  // gone meanwhile
    // pid (name) state parent group ...; the name may hold spaces and brackets.
    const auto open = line.find('('), close = line.rfind(')');
    if (open == std::string::npos || close == std::string::npos) continue;
    Entry entry;
    entry.name = line.substr(open, close - open + 1);
    std::istringstream(line.substr(close + 1)) >> entry.state >> entry.parent >> entry.group;
    found[static_cast<pid_t>(std::stol(id))] = entry;
  }
  return found;
}

bool is_below(const std::map<pid_t, Entry>& all, pid_t process, pid_t ancestor) {
  for (int depth = 0; depth < 64; ++depth) {
    const auto found = all.find(process);
    if (found == all.end()) return false;
    if (found->second.parent == ancestor) return true;
    process = found->second.parent;
  }
  return false;
}

}  // namespace

void adopt_orphans(bool ours) { prctl(PR_SET_CHILD_SUBREAPER, ours ? 1 : 0); }

OrphansLetGo::OrphansLetGo() {
  int ours = 0;
  prctl(PR_GET_CHILD_SUBREAPER, &ours);
  were_ours_ = ours != 0;
  if (were_ours_) adopt_orphans(false);
}

OrphansLetGo::~OrphansLetGo() {
  if (were_ours_) adopt_orphans(true);
}

std::optional<std::string> kill_strays() {
  std::optional<std::string> first;
  const auto all = all_processes();
  for (const auto& [id, entry] : all) {
    if (entry.state == 'Z' || entry.group == getpgrp() || Process::is_group(entry.group)) continue;
    if (!is_below(all, id, getpid())) continue;
    ::kill(id, SIGKILL);
    waitpid(id, nullptr, entry.parent == getpid() ? 0 : WNOHANG);
    if (!first) first = std::to_string(id) + " " + entry.name;
  }
  return first;
}

}  // namespace dent
