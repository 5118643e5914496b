// SPDX-License-Identifier: MIT
#include "system/processor_use.h"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "system/process.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// Processor time of all threads of a process, including ended ones.
double cpu_s(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Adds lines "cpu3 user nice system idle iowait irq softirq steal ..." (in ticks) of processors we may use.
void add_everyone(ProcessorUse& use) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  const double tick_s = 1.0 / static_cast<double>(std::max(1L, sysconf(_SC_CLK_TCK)));
  std::ifstream file("/proc/stat");
  int seen = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("cpu")) break;  // these lines come first
    if (line.starts_with("cpu ")) continue;
    std::istringstream fields(line.substr(3));
    std::size_t processor = 0;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft = 0, stolen = 0;
    fields >> processor >> user >> nice >> system >> idle >> waiting >> interrupts >> soft >> stolen;
    if (known && (processor >= CPU_SETSIZE || !CPU_ISSET(processor, &allowed))) continue;
    ++seen;
    use.busy_s += tick_s * (user + nice + system + interrupts + soft + stolen);
  }
  use.processors = std::max(seen, 1);
}

void add_threads(ProcessorUse& use, pid_t process) {
  std::error_code gone;  // the process may end meanwhile
  for (fs::directory_iterator thread("/proc/" + std::to_string(process) + "/task", gone), end;
       !gone && thread != end; thread.increment(gone)) {
    double ran_ns = 0, waited_ns = 0;
    std::ifstream times(thread->path() / "schedstat");
    if (times >> ran_ns >> waited_ns) {
      use.ran_s += 1e-9 * ran_ns;
      use.waited_s += 1e-9 * waited_ns;
    }
    std::ifstream status(thread->path() / "status");
    for (std::string key; status >> key; status.ignore(1 << 12, '\n')) {
      if (key != "nonvoluntary_ctxt_switches:") continue;
      std::int64_t switches = 0;
      if (status >> switches) use.switches += switches;
    }
  }
}

}  // namespace

ProcessorUse processor_use(std::span<const pid_t> groups) {
  ProcessorUse use;
  use.at_s = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  rusage own{};
  if (getrusage(RUSAGE_SELF, &own) == 0) use.ours_s = seconds_of(own.ru_utime) + seconds_of(own.ru_stime);
  add_everyone(use);
  for (const pid_t group : groups) {
    for (const pid_t process : Process::members(group)) {
      use.ours_s += cpu_s(process);
      add_threads(use, process);
    }
  }
  return use;
}

}  // namespace dent
