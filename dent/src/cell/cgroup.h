// SPDX-License-Identifier: MIT
// Control groups of the system, version 1 or 2: limits of memory, processes and processors that hold for a
// cell as a whole. For users who may make a group: root, and who was given one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "system/limited_group.h"

namespace dent {

struct CellLimits {               // 0: none
  std::int64_t memory_bytes = 0;  // files in memory among them
  int processes = 0;              // and threads
  double cores = 0;               // of processor time in each second
};

// A folder in which groups can be made, and what can be limited in them.
struct CgroupPlace {
  std::filesystem::path folder;
  int version = 1;
  std::vector<std::string> controllers;  // of memory, pids, cpu
  bool operator==(const CgroupPlace&) const = default;
};

// What the files cgroup and mountinfo of /proc/self say: where this process is. Version 2: the places from
// its own group up, of which one may let groups be made in it.
std::vector<CgroupPlace> own_cgroups(const std::string& cgroup, const std::string& mountinfo);
// What a dent that was killed has left in there: groups without processes, whose maker is gone.
void remove_leftover_cgroups(const std::filesystem::path& folder);
// Those of them that groups can be made in.
const std::vector<CgroupPlace>& usable_cgroups();

// One file of a group and what is written into it; "" where the limit is not wanted.
struct CgroupSetting {
  std::string file, value;
  bool operator==(const CgroupSetting&) const = default;
};
std::vector<CgroupSetting> cgroup_settings(const std::string& controller, int version,
                                           const CellLimits& limits);

// Gone with the last who holds it. Null where there is no place for it, or nothing to limit.
std::shared_ptr<LimitedGroup> make_cgroup(const CellLimits& limits, const std::vector<CgroupPlace>& places);

// For the record: "memory, processes, cores (cgroup 1)"; "none: ..."
std::string cgroups_in_words();

}  // namespace dent
