// SPDX-License-Identifier: MIT
// The machine of a scripted session: its clock moves only while calls are timed, by what the worker's script
// says; other programs have as many processors as DENT_SCRIPTED_OTHERS says, and none without it. Each
// function takes the place of dent's own.
#include <algorithm>
#include <cstdlib>

#include "measure/measuring_clock.h"
#include "system/processor_use.h"
#include "workers/worker.h"

namespace dent {
namespace {

constexpr double kWayNs = 1000;  // there and back, of one request
constexpr int kProcessors = 2;
double clock_ns = 1e9;

double given(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atof(text) : 0;
}

}  // namespace

double measuring_clock_s() { return clock_ns / 1e9; }

protocol::Timed Worker::go(double seconds, double& wall_ns, protocol::Go request) {
  protocol::Timed timed;
  if (compiles() && first_call_) seconds += setup_.compile_seconds;
  first_call_ = false;
  ask(
      protocol::Verb::go, [&](Fields& f) { fields(f, request); }, [&](Fields& f) { fields(f, timed); },
      seconds);
  timed.waited_ns = given("DENT_SCRIPTED_WAITED") * timed.ns;
  wall_ns = timed.ns + kWayNs;
  clock_ns += wall_ns;
  waited_ns_ = 0;
  return timed;
}

// DENT_SCRIPTED_WAITED: the share of their time that the kernels are ready to run and have no processor.
ProcessorUse processor_use(std::span<const pid_t>) {
  const double others = given("DENT_SCRIPTED_OTHERS");
  const double waited = std::min(given("DENT_SCRIPTED_WAITED"), 0.9);
  const double now_s = measuring_clock_s();
  ProcessorUse use;
  use.at_s = now_s;
  use.processors = kProcessors;
  use.ours_s = (1 - waited) * now_s;
  use.busy_s = use.ours_s + others * now_s;
  use.ran_s = use.ours_s;
  use.waited_s = waited * now_s;
  return use;
}

}  // namespace dent
