// SPDX-License-Identifier: MIT
#include "cell/cell.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "cell/bubblewrap.h"
#include "cell/variables.h"

namespace dent {
namespace {

constexpr const char* kPreload = "LD_PRELOAD";

bool limits_processes(const std::vector<CgroupPlace>& places) {
  return std::any_of(places.begin(), places.end(), [](const CgroupPlace& place) {
    const auto& all = place.controllers;
    return std::find(all.begin(), all.end(), "pids") != all.end();
  });
}

// What the system counts against a user's limit of processes.
std::int64_t threads_of_this_user() {
  std::int64_t threads = 0;
  std::error_code ignored;
  for (const auto& folder : std::filesystem::directory_iterator("/proc", ignored)) {
    struct stat about {};
    const std::filesystem::path tasks = folder.path() / "task";
    if (stat(tasks.c_str(), &about) != 0 || about.st_uid != getuid()) continue;
    threads += static_cast<std::int64_t>(about.st_nlink) - 2;  // a folder for each, and two links of its own
  }
  return threads;
}

}  // namespace

void CellView::add(const CellView& more) {
  visible.insert(visible.end(), more.visible.begin(), more.visible.end());
  writable.insert(writable.end(), more.writable.begin(), more.writable.end());
  hidden.insert(hidden.end(), more.hidden.begin(), more.hidden.end());
  variables.insert(variables.end(), more.variables.begin(), more.variables.end());
  network = network || more.network;
}

Cell::Cell(Sandbox wanted) : wanted_(wanted != Sandbox::off) {
  if (!wanted_) {
    why_not_ = "switched off (sandbox = \"off\")";
    return;
  }
  const Bubblewrap& tool = bubblewrap();
  why_not_ = tool.why_not;
  remedy_ = tool.remedy;
  if (wanted == Sandbox::required && !why_not_.empty()) {
    throw Error(ErrorCode::environment, "no cell for code that is not trusted: " + why_not_,
                tool.remedy + "; or let it run without: sandbox = \"auto\" in dent.toml");
  }
}

std::string Cell::in_words() const {
  return stands() ? "bubblewrap " + bubblewrap().version : "none: " + why_not_;
}

std::string Cell::limits_in_words() const {
  return wanted_ ? cgroups_in_words() : "none: switched off (sandbox = \"off\")";
}

void Cell::enclose(Command& command, const CellView& view) const {
  if (!wanted_) return;
  command.limits = make_cgroup(view.limits, usable_cgroups());
  if (view.limits.processes > 0 && !limits_processes(usable_cgroups()))
    command.most_processes = threads_of_this_user() + view.limits.processes;
  if (!stands()) return;
  command.cell = bubblewrap_prefix(bubblewrap(), view, command.directory);
  command.environment = cell_variables(view.variables, command.environment);
  command.only_that_environment = true;
  // A library that is loaded before all others, a sanitizer's, is meant for the program and not for
  // bubblewrap.
  for (const auto& [name, value] : command.environment) {
    if (name != kPreload) continue;
    command.cell.insert(command.cell.end() - 1, {"--setenv", kPreload, value});  // in front of "--"
  }
  std::erase_if(command.environment, [](const auto& variable) { return variable.first == kPreload; });
}

}  // namespace dent
