// SPDX-License-Identifier: MIT
// Worker::go: runs the prepared calls, timed by the worker's clock and by ours. It has its own source file
// for the reason given in measure/measuring_clock.h.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include "measure/measuring_clock.h"
#include "workers/worker.h"

namespace dent {
namespace {

// How long a process's first thread was ready but had no processor, since its start; 0 if the system does not
// report it.
double waited_for_processor_ns(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/schedstat");
  double ran = 0;
  double waited = 0;
  return file >> ran >> waited ? waited : 0;
}

}  // namespace

protocol::Timed Worker::go(double seconds, double& wall_ns, protocol::Go request) {
  protocol::Timed timed;
  if (compiles() && first_call_) seconds += setup_.compile_seconds;
  first_call_ = false;
  const double waited_before = waited_for_processor_ns(process()) + waited_for_processor_ns(getpid());
  const double start_s = measuring_clock_s();
  ask(
      protocol::Verb::go, [&](Fields& f) { fields(f, request); }, [&](Fields& f) { fields(f, timed); },
      seconds);
  wall_ns = (measuring_clock_s() - start_s) * 1e9;
  waited_ns_ =
      std::max(0.0, waited_for_processor_ns(process()) + waited_for_processor_ns(getpid()) - waited_before);
  const double waited_ns = timed.waited_ns.value_or(0);
  if (!std::isfinite(timed.ns) || timed.ns < 0 || !std::isfinite(waited_ns) || waited_ns < 0)
    fail(FailureKind::garbage, "replied without a valid time");
  return timed;
}

}  // namespace dent
