// SPDX-License-Identifier: MIT
#include "system/strays.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/process.h"
#include "system/process_table.h"

namespace dent {
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
    if (!first) first = std::to_string(id) + " (" + entry.name + ")";
  }
  return first;
}

}  // namespace dent
