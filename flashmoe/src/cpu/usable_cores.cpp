// SPDX-License-Identifier: MIT
#include "cpu/usable_cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <thread>

namespace flashmoe::cpu {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

int cores_of_affinity_mask() {
  const long configured = sysconf(_SC_NPROCESSORS_CONF);
  const int most = static_cast<int>(std::clamp<long>(configured, 1024, 1 << 20));
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(most),
                                                             [](cpu_set_t* s) { CPU_FREE(s); });
  const std::size_t bytes = CPU_ALLOC_SIZE(most);
  if (set == nullptr || sched_getaffinity(0, bytes, set.get()) != 0) {
    return static_cast<int>(std::thread::hardware_concurrency());
  }
  return CPU_COUNT_S(bytes, set.get());
}

// Of one group's folder. "max" and -1 stand for no quota, and so does what can't be read.
double quota_of_folder(const std::string& folder, bool unified) {
  double quota = 0;
  double period = 0;
  if (unified) {
    std::ifstream(folder + "/cpu.max") >> quota >> period;
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? quota / period : kNoLimit;
}

}  // namespace

double quota_of_groups(const std::string& groups, const std::string& root) {
  double least = kNoLimit;
  std::istringstream lines(groups);
  // "0::/path" in version 2, "4:cpu,cpuacct:/path" in version 1.
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
    const std::string top = unified ? root : root + "/" + controllers;
    // A quota binds all groups below it. In a container the path may be one that only the host can see.
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      least = std::min(least, quota_of_folder(top + path, unified));
      if (path.rfind('/') == std::string::npos) break;
    }
  }
  return least;
}

int usable_cores() {
  static const int cores = [] {
    std::ostringstream groups;
    groups << std::ifstream("/proc/self/cgroup").rdbuf();
    const double granted = quota_of_groups(groups.str(), "/sys/fs/cgroup");
    return std::max(1, static_cast<int>(std::min<double>(cores_of_affinity_mask(), granted)));
  }();
  return cores;
}

int threads_for(int wanted) { return wanted > 0 ? std::min(wanted, usable_cores()) : usable_cores(); }

}  // namespace flashmoe::cpu
