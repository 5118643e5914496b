// SPDX-License-Identifier: MIT
// What the system grants a process: processors, priority, limits. A stopped process changes none of this and
// uses no processor time; so if two readings differ, either it ran or another process changed its conditions.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace dent {

struct ThreadConditions {
  cpu_set_t affinity{};
  int policy = 0;       // SCHED_OTHER, SCHED_FIFO, ...
  int rt_priority = 0;  // if the policy has one
  int nice = 0;
  int io_class = 0;  // as ioprio_get returns it
};

struct Conditions {
  std::map<pid_t, ThreadConditions> threads;
  std::array<rlimit, RLIM_NLIMITS> limits{};
  std::string cgroup, autogroup, oom_score_adj;  // as in /proc
  std::int64_t cpu_ns = 0;                       // processor time of all threads together
  std::int64_t runs = 0;                         // times that a thread was put on a processor
};

// Reads the conditions of a live process. Members that can't be read keep their defaults.
Conditions conditions_of(pid_t process);

// Processor time that the process has used so far; 0 if it no longer exists.
std::int64_t cpu_time_ns(pid_t process);

// The first condition that differs, such as "its affinity was 0-1, is 0". Ignores processor time.
std::optional<std::string> difference(const Conditions& before, const Conditions& now);

// The first privilege that `its` has and `ours` has not, such as "a real-time policy".
std::optional<std::string> privilege(const Conditions& its, const Conditions& ours);

}  // namespace dent
