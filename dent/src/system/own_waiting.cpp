// SPDX-License-Identifier: MIT
#include "system/own_waiting.h"

#include <dirent.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace dent {
namespace {

// Tolerance for threads that run between the two readings, as a share and in ns.
constexpr double kReadingShare = 0.01, kReadingNs = 50e3;

double process_ns() {
  timespec time{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return 0;
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

}  // namespace

// Avoids streams and locales: a kernel is timed right after this call and should find its caches unchanged.
OwnWaiting::Threads OwnWaiting::threads() {
  Threads found;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/task"), closedir);
  if (!folder) return found;
  while (const dirent* entry = readdir(folder.get())) {
    const int thread = std::atoi(entry->d_name);
    if (thread <= 0) continue;
    char path[64], text[96] = {};
    std::snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", thread);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;  // the thread has ended, or the system has no schedstat
    const ssize_t n = read(file, text, sizeof text - 1);
    close(file);
    Times times;
    if (n > 0 && std::sscanf(text, "%lf %lf", &times.ran_ns, &times.waited_ns) == 2) found[thread] = times;
  }
  return found;
}

// Thread counters are read outside the span of the process clock. So their sum exceeds the process's time,
// unless a thread has ended.
OwnWaiting::OwnWaiting()
    : before_(threads()), processors_ns_(process_ns()), began_(std::chrono::steady_clock::now()) {}

std::optional<double> OwnWaiting::ns() const {
  const double passed_ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began_).count();
  const double all_ns = process_ns() - processors_ns_;
  const Threads now = threads();
  if (now.empty() || before_.empty()) return std::nullopt;
  double ran_ns = 0, waited_ns = 0;
  for (const auto& [thread, times] : now) {
    const auto before = before_.find(thread);
    const Times was = before == before_.end() ? Times{} : before->second;
    ran_ns += std::max(0.0, times.ran_ns - was.ran_ns);
    waited_ns += std::max(0.0, times.waited_ns - was.waited_ns);
  }
  if (all_ns - ran_ns > kReadingShare * all_ns + kReadingNs) return std::nullopt;
  // A single thread can't wait longer than it did not run; a larger count is from before or after the span.
  if (now.size() == 1 && before_.size() == 1) return std::min(waited_ns, std::max(0.0, passed_ns - all_ns));
  return waited_ns;
}

}  // namespace dent
