// SPDX-License-Identifier: MIT
// Profiles a GPU kernel with Nsight Compute. If its counters can't be read: the launches that a call makes,
// its time, and the least that its problem needs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>

#include "base/error.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "diagnose/ncu.h"
#include "diagnose/ncu_metrics.h"
#include "gates/profile/profile.h"
#include "system/capture.h"

namespace dent {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kProfiledSlowdown = 60;  // factor on a call's time under a profiler
constexpr double kStartSeconds = 60;      // for the profiler to start
constexpr int kTimedCalls = 10;

struct Gpu {
  std::string name;
  int arch = 0;
};

Gpu gpu_here() {
  const auto told = capture({"nvidia-smi", "--query-gpu=compute_cap,name", "--format=csv,noheader"}, 10);
  Gpu gpu;
  if (!told) return gpu;
  int major = 0, minor = 0;
  if (std::sscanf(told->c_str(), "%d.%d", &major, &minor) == 2) gpu.arch = 10 * major + minor;
  const auto comma = told->find(", ");
  if (comma != std::string::npos) gpu.name = told->substr(comma + 2, told->find('\n') - comma - 2);
  return gpu;
}

void run_once(Worker& worker, WorkerFactory& workers, const Problem& problem, Random& random, int calls) {
  const double seconds = kProfiledSlowdown * workers.project().limits.call_seconds;
  workers.inputs().renew(problem, random.next());
  worker.set_problem(message_for(problem, workers.pool(), static_cast<std::size_t>(calls), true), seconds);
  std::vector<protocol::Offsets> offsets;
  for (CallInputs& call : workers.inputs().draw(problem, static_cast<std::size_t>(calls), random))
    offsets.push_back(std::move(call.offsets));
  worker.prepare(offsets, seconds);
}

// The raw page as CSV: most versions of ncu print it with the report, otherwise it is made from the report.
std::string raw_page(const NcuTool& tool, const NcuRequest& request) {
  std::string csv = text_of(request.csv);
  if (csv.find("\"Kernel Name\"") != std::string::npos || trouble_in(csv)) return csv;
  const fs::path log = request.csv.string() + ".import";
  run({.argv = ncu_import(tool, request.report), .log = log}, 60);
  const std::string imported = text_of(log);
  fs::remove(log);
  if (imported.find("\"Kernel Name\"") == std::string::npos) return csv + imported;
  std::ofstream(request.csv) << imported;
  return imported;
}

void take_launches(Profile& profile, const NcuReport& report, int arch) {
  const ProfiledLaunch* longest = nullptr;
  double most_ns = -1;
  for (const ProfiledLaunch& launch : report.launches) {
    const Quantities found = quantities_of(launch);
    const auto or_zero = [&found](const char* key) { return found.has(key) ? found[key] : 0; };
    profile.launches.push_back(
        {short_name(launch.kernel), or_zero("ctas"), or_zero("cta_threads"), or_zero("duration_us")});
    if (or_zero("duration_us") > most_ns) {
      most_ns = or_zero("duration_us");
      longest = &launch;
    }
  }
  profile.kernel = short_name(longest->kernel);
  profile.arch = longest->arch > 0 ? longest->arch : arch;
  profile.limiter = occupancy_limiter(*longest);
  profile.quantities = quantities_of(*longest);
  profile.quantities.set("launches", static_cast<double>(report.launches.size()));
  profile.absent = absent_metrics(*longest, profile.arch);
}

// Throws Error if counters can't be read on this machine.
Profile by_counters(WorkerFactory& workers, const Kernel& kernel, const Problem& problem, std::uint64_t seed,
                    const fs::path& artifacts, const Gpu& gpu, const Progress& progress) {
  const NcuTool tool = find_ncu();
  const NcuRequest request{
      .arch = gpu.arch, .report = artifacts / "profile.ncu-rep", .csv = artifacts / "profile.csv"};
  Profile profile{.tool = "Nsight Compute " + tool.version, .tree = "gpu.toml", .device = DeviceKind::cuda};
  if (!tool.note.empty()) profile.notes.push_back(tool.note);
  progress(0.1, "one call under Nsight Compute");
  const auto start = Clock::now();
  Random random(seed);
  try {
    const auto worker = workers.start_profiled(kernel, ncu_prefix(tool, request), artifacts);
    run_once(*worker, workers, problem, random, 1);
    double wall_ns = 0;
    worker->go(kProfiledSlowdown * workers.project().limits.call_seconds, wall_ns);
    progress(0.8, "reading the report");
    worker->finish(kStartSeconds);
  } catch (const KernelFailed& failed) {
    // the profiler may be at fault, not the kernel
    const auto trouble = trouble_in(text_of(request.csv) + failed.failure().last_words);
    if (!trouble) throw;
    throw Error(ErrorCode::environment, trouble->what, trouble->fix);
  }
  const std::string csv = raw_page(tool, request);
  profile.tool_seconds = seconds_since(start);
  const NcuReport report = parse_ncu_csv(csv);
  if (report.launches.empty()) {
    const auto trouble = trouble_in(csv + text_of(artifacts / "profiled.log"));
    throw Error(ErrorCode::environment, trouble ? trouble->what : "Nsight Compute reported no kernel launch",
                trouble ? trouble->fix : "read its output in artifacts/profile.csv");
  }
  take_launches(profile, report, gpu.arch);
  profile.report = "profile.ncu-rep";
  if (!profile.absent.empty()) {
    profile.notes.push_back(fmt::format("Nsight Compute did not return {} of {} counters: {}",
                                        profile.absent.size(), ncu_metrics(profile.arch).size(),
                                        fmt::join(profile.absent, ", ")));
  }
  return profile;
}

// Finds launches by capturing a call. If that fails, the profile goes on without them: the time is still
// useful.
void add_launches(Profile& profile, Worker& worker, double seconds) {
  protocol::Launches told;
  try {
    told = worker.launches(seconds);
  } catch (const KernelFailed& failed) {
    if (failed.failure().kind != FailureKind::refused) throw;
    profile.notes.push_back("the kernel's launches are not known: " + failed.failure().what);
    return;
  }
  Quantities& q = profile.quantities;
  profile.arch = told.arch;
  q.set("sms", told.sms);
  q.set("launches", static_cast<double>(told.launches.size()));
  const protocol::GpuLaunch* largest = nullptr;
  for (const protocol::GpuLaunch& launch : told.launches) {
    profile.launches.push_back({short_name(launch.kernel), launch.ctas, launch.cta_threads});
    const auto threads = [](const protocol::GpuLaunch& l) { return l.ctas * l.cta_threads; };
    if (largest == nullptr || threads(launch) > threads(*largest)) largest = &launch;
  }
  if (largest == nullptr) return;
  profile.kernel = short_name(largest->kernel);
  q.set("ctas", largest->ctas);
  q.set("cta_threads", largest->cta_threads);
  q.set("registers", largest->registers);
  q.set("smem_bytes", largest->smem_bytes);
  q.set("local_bytes", largest->local_bytes);
  q.set("ctas_per_sm", largest->ctas_per_sm);
  const double at_once = q["sms"] * q["ctas_per_sm"];
  q.set("chip_share", std::min(100.0, 100 * q["ctas"] / q["sms"]));
  q.set("waves", q["ctas"] / at_once);
  q.set("empty_share", 100 * (1 - q["waves"] / std::ceil(q["waves"])));
  q.set("occupancy_possible", 100 * q["ctas_per_sm"] * std::ceil(q["cta_threads"] / 32) / told.warps_per_sm);
}

bool multiplies_in_16_bits(const Problem& problem) {
  return std::all_of(problem.inputs.begin(), problem.inputs.end(), [](const Tensor& input) {
    return !is_floating(input.dtype) || input.dtype == DType::fp16 || input.dtype == DType::bf16;
  });
}

Profile without_counters(WorkerFactory& workers, const Kernel& kernel, const Problem& problem,
                         std::uint64_t seed, const fs::path& artifacts, const Gpu& gpu,
                         const std::string& why, const Progress& progress) {
  Profile profile{.tool = "launch capture and clock",
                  .tree = "degraded.toml",
                  .degraded = why,
                  .device = DeviceKind::cuda};
  progress(0.5, "timing and capturing launches");
  Random random(seed);
  const auto worker = workers.start(kernel, Role::profiled, artifacts);
  const double seconds = kProfiledSlowdown * workers.project().limits.call_seconds;
  run_once(*worker, workers, problem, random, kTimedCalls);
  double wall_ns = 0;
  worker->go(seconds, wall_ns);  // the first call loads modules
  run_once(*worker, workers, problem, random, kTimedCalls);
  const double ns = worker->go(seconds, wall_ns).ns / kTimedCalls;
  profile.quantities.set("duration_us", ns / 1e3);
  if (const auto peaks = gpu_peaks(gpu.name)) {
    profile.quantities.set("bytes_share", 100 * problem.bytes / ns / peaks->gbs);
    if (multiplies_in_16_bits(problem)) {
      put_flops_share(profile.quantities, problem, ns, *peaks);
    } else {
      profile.quantities.not_applicable("flops_share",
                                        "dent's table has this GPU's peak for 16-bit products only");
    }
  } else {
    const std::string unknown = "the peaks of \"" + gpu.name + "\" are not in dent's table";
    profile.quantities.not_applicable("bytes_share", unknown);
    profile.quantities.not_applicable("flops_share", unknown);
    profile.notes.push_back(unknown);
  }
  add_launches(profile, *worker, seconds);
  for (const char* key :
       {"ctas", "sms", "chip_share", "waves", "empty_share", "local_bytes", "occupancy_possible"}) {
    if (!profile.quantities.has(key))
      profile.quantities.not_applicable(key, "the kernel's launches are not known");
  }
  return profile;
}

}  // namespace

Profile profile_gpu(WorkerFactory& workers, const Kernel& kernel, const Problem& problem, std::uint64_t seed,
                    const fs::path& artifacts, const Progress& progress) {
  const Gpu gpu = gpu_here();
  if (gpu.arch == 0) {
    throw KernelFailed(
        {FailureKind::refused, "nvidia-smi finds no NVIDIA GPU on this machine", "", Role::profiled});
  }
  std::string why;
  try {
    return by_counters(workers, kernel, problem, seed, artifacts, gpu, progress);
  } catch (const Error& problem_of_tool) {
    if (problem_of_tool.code() != ErrorCode::environment) throw;
    why = problem_of_tool.in_one_line();
  }
  return without_counters(workers, kernel, problem, seed, artifacts, gpu, why, progress);
}

}  // namespace dent
