// SPDX-License-Identifier: MIT
// Processes that a worker started and moved out of its group, so that stopping the group does not stop them.
#pragma once

#include <optional>
#include <string>

namespace dent {

// Makes orphaned descendants our children, so that they can be found; `false` undoes it.
void adopt_orphans(bool ours = true);

// Suspends adopt_orphans() while it lives: a compiler, for example, may leave a server running.
class OrphansLetGo {
 public:
  OrphansLetGo();
  ~OrphansLetGo();
  OrphansLetGo(const OrphansLetGo&) = delete;
  OrphansLetGo& operator=(const OrphansLetGo&) = delete;

 private:
  bool were_ours_;
};

// Kills every descendant that belongs to no group of a live Process. Returns the first one, such as "12345
// (a.out)".
std::optional<std::string> kill_strays();

}  // namespace dent
