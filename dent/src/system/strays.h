// SPDX-License-Identifier: MIT
// Processes that a worker has started and put out of its group, where nobody stops or kills them with it.
#pragma once

#include <optional>
#include <string>

namespace dent {

// From now on, processes whose parent has died become ours, so that they can be found; or again not.
void adopt_orphans(bool ours = true);

// While it lives, orphans are not ours: a compiler may leave its server behind.
class OrphansLetGo {
 public:
  OrphansLetGo();
  ~OrphansLetGo();
  OrphansLetGo(const OrphansLetGo&) = delete;
  OrphansLetGo& operator=(const OrphansLetGo&) = delete;

 private:
  bool were_ours_;
};

// Kills every process below us that belongs to no group of a live Process, and names the first: "12345
// (a.out)".
std::optional<std::string> kill_strays();

}  // namespace dent
