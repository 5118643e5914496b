// SPDX-License-Identifier: MIT
// What the system grants a process: processors, priority, limits. A process that is stopped changes none of
// it and uses no processor, so a difference between two looks at it was made by someone else, or it ran.
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
  int rt_priority = 0;  // where the policy has one
  int nice = 0;
  int io_class = 0;  // as ioprio_get gives it
};

struct Conditions {
  std::map<pid_t, ThreadConditions> threads;
  std::array<rlimit, RLIM_NLIMITS> limits{};
  std::string cgroup, autogroup, oom_score_adj;  // as /proc has them
  std::int64_t cpu_ns = 0;                       // of processor time, all threads together
  std::int64_t runs = 0;                         // times that one of them was put on a processor
};

// Of a process that lives. What can't be read stays as it is in an empty one.
Conditions conditions_of(pid_t process);

// The processor time that it has used so far; 0 when it is gone.
std::int64_t cpu_time_ns(pid_t process);

// What was granted before and is not now, or the other way round: "its affinity was 0-1, is 0". What it
// has used is left out.
std::optional<std::string> difference(const Conditions& before, const Conditions& now);

// What it has beyond what `ours` grants: "a real-time policy", "nice -5 instead of 0".
std::optional<std::string> privilege(const Conditions& its, const Conditions& ours);

}  // namespace dent
