// SPDX-License-Identifier: MIT
#include "diagnose/cpu_counters.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

namespace dent {
namespace {

struct Event {
  const char* name;
  std::uint64_t config;
};
constexpr Event kEvents[] = {{"instructions", PERF_COUNT_HW_INSTRUCTIONS},
                             {"cycles", PERF_COUNT_HW_CPU_CYCLES},
                             {"cache_misses", PERF_COUNT_HW_CACHE_MISSES},
                             {"branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
                             {"branch_misses", PERF_COUNT_HW_BRANCH_MISSES}};

int open_counter(std::uint64_t config, pid_t thread) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = config;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  // With more events than hardware counters, the kernel multiplexes them; these two times serve for scaling.
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, thread, -1, -1,
                                  static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC)));
}

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads;
  std::error_code gone;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", gone)) {
    threads.push_back(static_cast<pid_t>(std::atoi(entry.path().filename().c_str())));
  }
  return threads;
}

double cpu_ns_of(pid_t process) {
  clockid_t clock{};
  timespec now{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &now) != 0) return -1;
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double waited_ns_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/schedstat");
  double ran = 0, waited = 0;
  return file >> ran >> waited ? waited : 0;
}

std::string why_not(int error) {
  if (error == EACCES || error == EPERM) {
    return "the system allows only administrators to read counters (sysctl kernel.perf_event_paranoid=2 "
           "allows "
           "it, or run as "
           "root)";
  }
  if (error == ENOENT || error == ENODEV || error == EOPNOTSUPP || error == ENOSYS || error == EINVAL) {
    return "this machine provides no hardware counters (a virtual machine or a sandbox)";
  }
  return std::string("hardware counters can't be opened: ") + std::strerror(error);
}

}  // namespace

CpuCounters::CpuCounters(pid_t process)
    : process_(process), cpu_ns_at_start_(cpu_ns_of(process)), waited_ns_at_start_(waited_ns_of(process)) {
  for (const pid_t thread : threads_of(process)) {
    for (const Event& event : kEvents) {
      const int descriptor = open_counter(event.config, thread);
      if (descriptor >= 0) {
        counters_.push_back({event.name, descriptor});
      } else if (event.config == PERF_COUNT_HW_INSTRUCTIONS && refusal_.empty()) {
        refusal_ = why_not(errno);
      }
    }
  }
  if (counters_.empty() && refusal_.empty()) refusal_ = "the process has ended";
}

CpuCounters::~CpuCounters() {
  for (const Counter& counter : counters_) close(counter.descriptor);
}

Quantities CpuCounters::read() const {
  Quantities found;
  std::map<std::string, double> sums;
  for (const Counter& counter : counters_) {
    std::uint64_t values[3] = {};  // count, time enabled, time running
    if (::read(counter.descriptor, values, sizeof values) != sizeof values || values[2] == 0) continue;
    sums[counter.name] +=
        static_cast<double>(values[0]) * static_cast<double>(values[1]) / static_cast<double>(values[2]);
  }
  for (const Event& event : kEvents) {
    const auto sum = sums.find(event.name);
    if (sum != sums.end()) {
      found.set(event.name, sum->second);
    } else {
      found.not_applicable(event.name, refusal_.empty() ? "this machine has no counter for them" : refusal_);
    }
  }
  found.set("waited_ns", waited_ns_of(process_) - waited_ns_at_start_);
  const double now = cpu_ns_of(process_);
  if (now >= 0 && cpu_ns_at_start_ >= 0) {
    found.set("cpu_ns", now - cpu_ns_at_start_);
  } else {
    found.not_applicable("cpu_ns", "the system does not report another process's processor time");
  }
  return found;
}

}  // namespace dent
