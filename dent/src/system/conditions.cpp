// SPDX-License-Identifier: MIT
#include "system/conditions.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace dent {
namespace {

constexpr int kIoPriorityOfThread = 1;  // IOPRIO_WHO_PROCESS

std::string content_of(pid_t process, const char* file) {
  std::ifstream in("/proc/" + std::to_string(process) + "/" + file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::int64_t runs_of(const std::filesystem::path& thread) {
  std::ifstream times(thread / "schedstat");
  std::int64_t ran_ns = 0, waited_ns = 0, runs = 0;
  return times >> ran_ns >> waited_ns >> runs ? runs : 0;
}

ThreadConditions of_thread(pid_t thread) {
  ThreadConditions found;
  sched_getaffinity(thread, sizeof found.affinity, &found.affinity);
  found.policy = sched_getscheduler(thread);
  sched_param parameters{};
  if (sched_getparam(thread, &parameters) == 0) found.rt_priority = parameters.sched_priority;
  found.nice = getpriority(PRIO_PROCESS, static_cast<id_t>(thread));
  found.io_class = static_cast<int>(syscall(SYS_ioprio_get, kIoPriorityOfThread, thread));
  return found;
}

// Formats a set of processors: "0-3,8".
std::string in_words(const cpu_set_t& set) {
  std::string text;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    int last = cpu;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(cpu);
    if (last > cpu) text += "-" + std::to_string(last);
    cpu = last;
  }
  return text;
}

std::string in_words(rlim_t limit) { return limit == RLIM_INFINITY ? "none" : std::to_string(limit); }

std::string change(const char* what, const std::string& before, const std::string& now) {
  return std::string("its ") + what + " was " + before + ", is " + now;
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& c : text) c = c == '\n' ? ' ' : c;
  return text;
}

std::optional<std::string> difference(const ThreadConditions& before, const ThreadConditions& now) {
  if (!CPU_EQUAL(&before.affinity, &now.affinity))
    return change("affinity", in_words(before.affinity), in_words(now.affinity));
  if (before.policy != now.policy || before.rt_priority != now.rt_priority)
    return change("scheduling policy", std::to_string(before.policy), std::to_string(now.policy));
  if (before.nice != now.nice) return change("nice", std::to_string(before.nice), std::to_string(now.nice));
  if (before.io_class != now.io_class)
    return change("I/O class", std::to_string(before.io_class), std::to_string(now.io_class));
  return std::nullopt;
}

}  // namespace

std::int64_t cpu_time_ns(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

Conditions conditions_of(pid_t process) {
  Conditions found;
  std::error_code ignored;
  const std::filesystem::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& entry : std::filesystem::directory_iterator(tasks, ignored)) {
    const auto thread = static_cast<pid_t>(std::stol(entry.path().filename()));
    found.threads[thread] = of_thread(thread);
    found.runs += runs_of(entry.path());
  }
  for (std::size_t i = 0; i < found.limits.size(); ++i) {
    prlimit(process, static_cast<__rlimit_resource>(i), nullptr, &found.limits[i]);
  }
  found.cgroup = one_line(content_of(process, "cgroup"));
  found.autogroup = one_line(content_of(process, "autogroup"));
  found.oom_score_adj = one_line(content_of(process, "oom_score_adj"));
  found.cpu_ns = cpu_time_ns(process);
  return found;
}

std::optional<std::string> difference(const Conditions& before, const Conditions& now) {
  for (const auto& [id, thread] : before.threads) {
    const auto same = now.threads.find(id);
    if (same == now.threads.end()) continue;
    if (auto found = difference(thread, same->second)) return found;
  }
  for (std::size_t i = 0; i < before.limits.size(); ++i) {
    const rlimit &was = before.limits[i], &is = now.limits[i];
    if (was.rlim_cur == is.rlim_cur && was.rlim_max == is.rlim_max) continue;
    return change(("limit " + std::to_string(i) + " (setrlimit)").c_str(), in_words(was.rlim_cur),
                  in_words(is.rlim_cur));
  }
  if (before.cgroup != now.cgroup) return change("cgroup", before.cgroup, now.cgroup);
  if (before.autogroup != now.autogroup) return change("autogroup", before.autogroup, now.autogroup);
  if (before.oom_score_adj != now.oom_score_adj)
    return change("oom_score_adj", before.oom_score_adj, now.oom_score_adj);
  return std::nullopt;
}

std::optional<std::string> privilege(const Conditions& its, const Conditions& ours) {
  if (ours.threads.empty()) return std::nullopt;
  const ThreadConditions& normal = ours.threads.begin()->second;  // of the main thread
  for (const auto& [id, thread] : its.threads) {
    const bool real_time = thread.policy == SCHED_FIFO || thread.policy == SCHED_RR || thread.policy == 6;
    if (real_time && thread.policy != normal.policy) return "it runs with a real-time policy";
    if (thread.nice < normal.nice) {
      return "it runs at nice " + std::to_string(thread.nice) + ", and was started at " +
             std::to_string(normal.nice);
    }
  }
  return std::nullopt;
}

}  // namespace dent
