// SPDX-License-Identifier: MIT
#include "cell/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/text.h"
#include "base/uuid.h"
#include "system/file_descriptor.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "dent-";
constexpr int kPeriodUs = 100'000;
constexpr const char* kControllers[] = {"memory", "pids", "cpu"};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

bool holds(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

struct Mount {
  fs::path root, point;
  int version = 1;
  std::vector<std::string> options;  // of version 1: its controllers among them
};

// "34 33 0:31 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu"
std::vector<Mount> cgroup_mounts(const std::string& mountinfo) {
  std::vector<Mount> mounts;
  for (const std::string& line : split(mountinfo, '\n')) {
    const auto dash = line.find(" - cgroup");
    if (dash == std::string::npos) continue;
    const auto front = split(line.substr(0, dash), ' '), back = split(line.substr(dash + 3), ' ');
    if (front.size() < 5 || back.size() < 3) continue;
    mounts.push_back({front[3], front[4], back[0] == "cgroup2" ? 2 : 1, split(back[2], ',')});
  }
  return mounts;
}

// Where a group of that name lies below a mount: a container may have mounted a part only.
fs::path below(const Mount& mount, const std::string& group) {
  const fs::path relative = fs::path(group).lexically_relative(mount.root);
  const bool outside = relative.empty() || *relative.begin() == "..";
  return (outside || relative == "." ? mount.point : mount.point / relative).lexically_normal();
}

bool writes(const fs::path& file, const std::string& text) {
  const FileDescriptor descriptor(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  return descriptor && write(descriptor.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool can_be_used(CgroupPlace& place) {
  if (place.version == 2) {  // a group's limits are there where the one above it lets them be
    const auto let = split(trimmed(text_of(place.folder / "cgroup.subtree_control")), ' ');
    std::erase_if(place.controllers, [&](const std::string& one) { return !holds(let, one); });
  }
  return !place.controllers.empty() && access(place.folder.c_str(), W_OK) == 0 &&
         access((place.folder / "cgroup.procs").c_str(), W_OK) == 0;
}

// Whoever has made a group holds a lock on it, which the system lets go of when they die. A process number
// would not do: it may be one of another namespace.
FileDescriptor lock_group(const fs::path& folder) {
  FileDescriptor lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock && flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return FileDescriptor();
  return lock;
}

class Cgroup : public LimitedGroup {
 public:
  ~Cgroup() override {
    doors_.clear();
    held_.clear();
    locks_.clear();
    // Its processes are about to end.
    for (const fs::path& folder : folders_) {
      for (int attempt = 0; attempt < 100 && rmdir(folder.c_str()) != 0 && errno == EBUSY; ++attempt)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  // Whether the limits hold there.
  bool enter(const CgroupPlace& place, const CellLimits& limits) {
    std::vector<CgroupSetting> wanted;
    for (const std::string& controller : place.controllers) {
      for (CgroupSetting& setting : cgroup_settings(controller, place.version, limits))
        wanted.push_back(std::move(setting));
    }
    if (wanted.empty()) return false;
    const fs::path folder = make_folder(place.folder);
    if (folder.empty()) return false;
    for (const CgroupSetting& setting : wanted) {
      // Swap can't be limited on every machine.
      if (!writes(folder / setting.file, setting.value) && setting.file.find("sw") == std::string::npos)
        return false;
    }
    held_.emplace_back(open((folder / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (!held_.back()) return false;
    doors_.push_back(held_.back().get());
    if (holds(place.controllers, "memory"))
      events_ = folder / (place.version == 1 ? "memory.oom_control" : "memory.events");
    return true;
  }

  const std::vector<int>& doors() const override { return doors_; }
  bool ran_out_of_memory() const override {
    std::istringstream words(events_.empty() ? "" : text_of(events_));
    std::int64_t count = 0;
    for (std::string key; words >> key >> count;) {
      if (key == "oom_kill") return count > 0;
    }
    return false;
  }

 private:
  // One that is ours: another dent that clears away may have taken it before it was locked.
  fs::path make_folder(const fs::path& place) {
    for (int attempt = 0; attempt < 3; ++attempt) {
      const fs::path folder = place / (kPrefix + new_uuid());
      if (mkdir(folder.c_str(), 0755) != 0) return {};
      FileDescriptor lock = lock_group(folder);
      if (!lock || !fs::exists(folder)) continue;
      locks_.push_back(std::move(lock));
      folders_.push_back(folder);
      return folder;
    }
    return {};
  }

  std::vector<fs::path> folders_;
  std::vector<FileDescriptor> locks_;
  std::vector<FileDescriptor> held_;
  std::vector<int> doors_;
  fs::path events_;
};

}  // namespace

std::vector<CgroupPlace> own_cgroups(const std::string& cgroup, const std::string& mountinfo) {
  const std::vector<Mount> mounts = cgroup_mounts(mountinfo);
  std::vector<CgroupPlace> places;
  for (const std::string& line : split(cgroup, '\n')) {  // "4:memory:/path", "0::/path"
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const auto own = split(line.substr(first + 1, second - first - 1), ',');
    const std::string group = line.substr(second + 1);
    for (const Mount& mount : mounts) {
      if (own.empty() && mount.version == 2) {
        for (fs::path folder = below(mount, group);; folder = folder.parent_path()) {
          places.push_back({folder, 2, {std::begin(kControllers), std::end(kControllers)}});
          if (folder == mount.point || folder == folder.parent_path()) break;
        }
      }
      if (mount.version != 1) continue;
      CgroupPlace place{below(mount, group), 1, {}};
      for (const char* controller : kControllers) {
        if (holds(own, controller) && holds(mount.options, controller))
          place.controllers.push_back(controller);
      }
      if (!place.controllers.empty()) places.push_back(std::move(place));
    }
  }
  return places;
}

void remove_leftover_cgroups(const fs::path& folder) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    if (lock_group(entry.path())) rmdir(entry.path().c_str());  // refused while a process is in it
  }
}

const std::vector<CgroupPlace>& usable_cgroups() {
  static const std::vector<CgroupPlace> usable = [] {
    std::vector<CgroupPlace> found;
    std::vector<std::string> have;
    for (CgroupPlace& place : own_cgroups(text_of("/proc/self/cgroup"), text_of("/proc/self/mountinfo"))) {
      std::erase_if(place.controllers, [&](const std::string& one) { return holds(have, one); });
      if (!can_be_used(place)) continue;
      remove_leftover_cgroups(place.folder);
      have.insert(have.end(), place.controllers.begin(), place.controllers.end());
      found.push_back(std::move(place));
    }
    return found;
  }();
  return usable;
}

std::vector<CgroupSetting> cgroup_settings(const std::string& controller, int version,
                                           const CellLimits& limits) {
  if (controller == "memory" && limits.memory_bytes > 0) {
    const std::string bytes = std::to_string(limits.memory_bytes);
    if (version == 1) return {{"memory.limit_in_bytes", bytes}, {"memory.memsw.limit_in_bytes", bytes}};
    return {{"memory.max", bytes}, {"memory.swap.max", "0"}};
  }
  if (controller == "pids" && limits.processes > 0) return {{"pids.max", std::to_string(limits.processes)}};
  if (controller == "cpu" && limits.cores > 0) {
    const auto quota = std::to_string(std::lround(limits.cores * kPeriodUs));
    if (version == 1) return {{"cpu.cfs_period_us", std::to_string(kPeriodUs)}, {"cpu.cfs_quota_us", quota}};
    return {{"cpu.max", quota + " " + std::to_string(kPeriodUs)}};
  }
  return {};
}

std::shared_ptr<LimitedGroup> make_cgroup(const CellLimits& limits, const std::vector<CgroupPlace>& places) {
  auto group = std::make_shared<Cgroup>();
  bool any = false;
  for (const CgroupPlace& place : places) any = group->enter(place, limits) || any;
  return any ? group : nullptr;
}

std::string cgroups_in_words() {
  std::vector<std::string> words;
  int version = 0;
  for (const CgroupPlace& place : usable_cgroups()) {
    version = place.version;
    for (const std::string& controller : place.controllers)
      words.push_back(controller == "pids" ? "processes" : controller == "cpu" ? "cores" : controller);
  }
  if (words.empty()) return "none: this user may make no control group";
  return fmt::format("{} (cgroup {})", fmt::join(words, ", "), version);
}

}  // namespace dent
