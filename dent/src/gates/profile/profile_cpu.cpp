// SPDX-License-Identifier: MIT
// Profiles a CPU kernel: hardware counters if the system allows them, otherwise processor time, the mix of
// its instructions, and the roofline.
#include <sched.h>

#include <algorithm>

#include "diagnose/cpu_counters.h"
#include "diagnose/instruction_mix.h"
#include "gates/profile/profile.h"

namespace dent {
namespace {

constexpr double kStretchNs = 50e6;  // long enough for meaningful counts

int cores_allowed() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? std::max(1, CPU_COUNT(&allowed)) : 1;
}

protocol::Timed run_calls(Worker& worker, WorkerFactory& workers, const Problem& problem, Random& random,
                          std::size_t calls) {
  const double seconds = workers.project().limits.call_seconds * static_cast<double>(calls + 1);
  std::vector<protocol::Offsets> offsets;
  for (CallInputs& call : workers.inputs().draw(problem, calls, random))
    offsets.push_back(std::move(call.offsets));
  worker.prepare(offsets, seconds);
  double wall_ns = 0;
  return worker.go(seconds, wall_ns);
}

void put_counts(Profile& profile, const Quantities& counts, double ns) {
  Quantities& q = profile.quantities;
  for (const auto& [key, reading] : counts.all()) q.put(key, reading);
  const auto ratio = [&](const char* to, const char* left, const char* right, double factor) {
    if (!counts.has(left)) return q.put(to, counts.at(left));
    if (!counts.has(right)) return q.put(to, counts.at(right));
    if (counts[right] <= 0) return q.not_applicable(to, "nothing was counted");
    q.set(to, factor * counts[left] / counts[right]);
  };
  ratio("ipc", "instructions", "cycles", 1);
  ratio("misses_per_kilo", "cache_misses", "instructions", 1000);
  ratio("branch_miss_share", "branch_misses", "branches", 100);
  if (counts.has("cpu_ns") && ns > 0) {
    q.set("threads_used", std::min(counts["cpu_ns"] / ns, q["cores"]));
  } else {
    q.put("threads_used", counts.at("cpu_ns"));
  }
}

void put_mix(Profile& profile, WorkerFactory& workers, const Kernel& kernel) {
  Quantities& q = profile.quantities;
  if (!kernel.python.empty())
    return q.not_applicable("vector_share", "a Python function has no library of its own");
  const InstructionMix mix = instruction_mix(workers.builder().build(kernel).library);
  const double all = static_cast<double>(mix.vector + mix.scalar);
  if (all == 0)
    return q.not_applicable("vector_share", "no floating-point arithmetic was found in the library");
  q.set("vector_share", 100 * static_cast<double>(mix.vector) / all);
  q.set("vector_instructions", static_cast<double>(mix.vector));
  q.set("scalar_instructions", static_cast<double>(mix.scalar));
}

}  // namespace

Profile profile_cpu(WorkerFactory& workers, const Kernel& kernel, const Problem& problem, std::uint64_t seed,
                    const std::filesystem::path& artifacts, const Progress& progress) {
  Profile profile{.tool = "perf", .tree = "cpu.toml", .device = DeviceKind::cpu};
  progress(0.1, "counting");
  Random random(seed);
  const auto worker = workers.start(kernel, Role::profiled, artifacts);
  workers.inputs().renew(problem, random.next());
  const std::size_t most = workers.most_calls(problem);
  worker->set_problem(message_for(problem, workers.pool(), most, true),
                      workers.project().limits.call_seconds);
  const double first_ns = std::max(1.0, run_calls(*worker, workers, problem, random, 1).ns);
  const auto calls = std::clamp<std::size_t>(static_cast<std::size_t>(kStretchNs / first_ns), 2, most);
  run_calls(*worker, workers, problem, random, calls);  // creates threads and touches memory before counting

  profile.quantities.set("cores", cores_allowed());
  std::vector<protocol::Offsets> offsets;
  for (CallInputs& call : workers.inputs().draw(problem, calls, random))
    offsets.push_back(std::move(call.offsets));
  const double seconds = workers.project().limits.call_seconds * static_cast<double>(calls + 1);
  worker->prepare(offsets, seconds);
  double wall_ns = 0;
  const CpuCounters counters(worker->process());
  const double total_ns = worker->go(seconds, wall_ns).ns;
  const Quantities counts = counters.read();
  // Time spent waiting because of other programs must not count as cores that the kernel left idle.
  const double own_ns = std::max(total_ns - counts["waited_ns"], 0.1 * total_ns);
  const double ns = total_ns / static_cast<double>(calls);

  profile.quantities.set("duration_us", ns / 1e3);
  put_counts(profile, counts, own_ns);
  put_mix(profile, workers, kernel);
  progress(0.6, "measuring what this machine can do");
  const Peaks peaks = cpu_peaks("this machine");
  profile.quantities.set("bytes_share", 100 * problem.bytes / ns / peaks.gbs);
  put_flops_share(profile.quantities, problem, ns, peaks);
  profile.kernel = kernel.name;
  if (!counters.refusal().empty()) {
    profile.tool = "clock and disassembly";
    profile.degraded = counters.refusal();
  }
  return profile;
}

}  // namespace dent
