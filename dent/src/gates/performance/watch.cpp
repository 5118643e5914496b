// SPDX-License-Identifier: MIT
#include "gates/performance/watch.h"

#include <algorithm>

namespace dent {

Watch::Watch(std::vector<pid_t> workers) : workers_(std::move(workers)), start_(processor_use(workers_)) {}

Disturbance Watch::so_far() const { return between(start_, processor_use(workers_)); }

Disturbance between(const ProcessorUse& start, const ProcessorUse& end) {
  // Counters of ended threads are lost, so a difference may be negative.
  const auto grown = [&](double ProcessorUse::*what) { return std::max(0.0, end.*what - start.*what); };
  Disturbance found{.processors = end.processors};
  const double passed_s = grown(&ProcessorUse::at_s);
  if (!(passed_s > 0)) return found;
  const double others_s = std::max(0.0, grown(&ProcessorUse::busy_s) - grown(&ProcessorUse::ours_s));
  found.others = std::min(others_s / passed_s, static_cast<double>(end.processors));
  // Threads of a kernel that has more threads than processors also wait for each other; waiting for other
  // programs can't be longer than those have run.
  const double waited_s = std::min(grown(&ProcessorUse::waited_s), others_s);
  const double wanted_s = grown(&ProcessorUse::ran_s) + waited_s;
  if (wanted_s > 0) found.waited = waited_s / wanted_s;
  found.switches = std::max<std::int64_t>(0, end.switches - start.switches);
  return found;
}

}  // namespace dent
