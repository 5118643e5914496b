// SPDX-License-Identifier: MIT
// Checks that the kernel builds and loads. Records the compiler's output, resources and hashes.
#include <fmt/format.h>

#include <fstream>

#include "base/sha256.h"
#include "build/ptxas.h"
#include "build/remedy.h"
#include "gates/context.h"
#include "gates/registry.h"
#include "predict/launch_forecast.h"

namespace dent {
namespace {

// The file of a Python function, derived from its module's name without running it.
std::filesystem::path python_file(const Project& project, const Kernel& kernel) {
  std::string module = kernel.python.substr(0, kernel.python.find(':'));
  for (char& c : module) c = c == '.' ? '/' : c;
  return (kernel.directory.empty() ? project.directory : kernel.directory) / (module + ".py");
}

GateResult judge(const Built& built, const std::vector<KernelResources>& kernels,
                 const LaunchForecast& foreseen, const std::filesystem::path& log) {
  if (!built.ok) {
    const bool late = built.how == Ending::Kind::timed_out;
    return failed(late ? Cause::timeout : Cause::build, built.problem,
                  late ? "raise limits.build_seconds in dent.toml"
                  : built.next.empty()
                      ? fmt::format("fix the error; the compiler's whole output: less '{}'", log.string())
                      : built.next,
                  built.log.substr(built.log.size() > 2000 ? built.log.size() - 2000 : 0));
  }
  if (const std::string beyond = beyond_limits(kernels); !beyond.empty())
    return failed(Cause::build, beyond, "declare the array extern __shared__ and pass its size at launch");
  if (!foreseen.failure.empty()) return failed(Cause::build, foreseen.failure, foreseen.next);
  std::string reason = built.reused ? "up to date, source " + built.source_hash.substr(0, 12)
                                    : fmt::format("built in {:.1f} s, source {}", built.seconds,
                                                  built.source_hash.substr(0, 12));
  for (const KernelResources& k : kernels) {
    if (k.spill_bytes > 0 || k.stack_bytes > 0) {
      reason +=
          fmt::format("; {} has {} bytes of stack and {} of spills", k.name, k.stack_bytes, k.spill_bytes);
      break;
    }
  }
  if (!foreseen.warning.empty()) reason += "; " + foreseen.warning;
  return passed(std::move(reason));
}

// Loads the built library in the process that will run it.
GateResult load(GateResult built, Sides& sides) {
  try {
    sides.candidate();
  } catch (const KernelFailed& problem) {
    const Failure& failure = problem.failure();
    if (failure.kind == FailureKind::no_driver) {
      std::get<Passed>(built.end).reason += "; not loaded, because this machine has no CUDA driver";
    } else if (failure.kind == FailureKind::refused) {
      const Remedy remedy = read_load_failure(failure.what, sides.candidate_kernel());
      built.end = Failed{Cause::build, remedy.problem, remedy.next, failure.last_words, failure.kind};
    } else {
      throw;
    }
  }
  return built;
}

// Adds what a function compiled while loading: loading calls it for every shape, so everything is compiled.
void add_jitted(GateResult& result, const Jitted& jitted) {
  std::vector<std::string> compilers;
  for (const auto& [name, version] : jitted.compilers) compilers.push_back(name + " " + version);
  std::string& reason = std::get<Passed>(result.end).reason;
  reason = fmt::format(
      "{} by {}", jitted.reused ? "compiled before" : fmt::format("compiled in {:.1f} s", jitted.seconds),
      fmt::join(compilers, ", "));
  for (const KernelResources& kernel : jitted.kernels)
    reason += fmt::format("; {}: {} registers, {} bytes of shared memory, {} of spills", kernel.name,
                          kernel.registers, kernel.static_smem_bytes + kernel.dynamic_smem_bytes,
                          kernel.spill_bytes);
  if (!jitted.tuned.empty())
    reason += fmt::format("; tuned, and fixed for the session: {}", jitted.tuned.front().config) +
              (jitted.tuned.size() > 1 ? fmt::format(" and {} more", jitted.tuned.size() - 1) : "");
  for (AnyRecord& record : result.records) {
    auto* build = std::get_if<record::Build>(&record);
    if (build == nullptr) continue;
    build->binary_hash = jitted.binary_hash;
    build->seconds = jitted.seconds;
    build->kernels = jitted.kernels;
    build->compilers = jitted.compilers;
    build->tuned = jitted.tuned;
  }
}

// Hash of the incumbent's library in a loop: if the candidate is the same program, nothing is measured.
std::string incumbent_hash(GateContext& at) {
  if (at.sides.against() != Against::incumbent || !at.sides.opponent_kernel().python.empty()) return {};
  return at.builder().built(at.sides.opponent_kernel()).binary_hash;
}

class BuildGate : public Gate {
  const GateInfo& info() const override {
    static const GateInfo kInfo{
        .name = "build",
        .command = "build",
        .question = "Does it build and load?",
        .about = "Build the kernel and load it",
        .passes_when =
            "it compiles in time, fits the limits of the GPU, loads, and has its entry; warns if fewer "
            "CTAs than SMs would work (`[kernel.launch]`)",
        .otherwise = "the compiler's first error; all of its output in `artifacts/build.log`",
        .example = "  dent build --clean",
        .uses = Uses::compiler,
        .options = {{"clean", "Build from scratch", &GateOptions::clean}},
        .kinds = {"build", "prediction"}};
    return kInfo;
  }

  PlanEntry plan(const Project& project) const override {
    return {project.limits.build_seconds, "stops when it does not build or load"};
  }

  GateResult run(GateContext& at) const override {
    GateResult result = build(at);
    if (result.passed() != nullptr) result = load(std::move(result), at.sides);
    if (const Jitted* jitted = at.workers().jitted(at.kernel());
        jitted != nullptr && result.passed() != nullptr)
      add_jitted(result, *jitted);
    return result;
  }

  static GateResult build(GateContext& at);
};

}  // namespace

GateResult BuildGate::build(GateContext& at) {
  const Project& project = at.project();
  const Kernel& kernel = at.kernel();
  at.progress(0, "building " + kernel.name);
  if (!kernel.python.empty()) {
    const auto file = python_file(project, kernel);
    const std::string hash = sha256_of_file(file);
    if (hash.empty())
      return failed(Cause::build, file.string() + " can't be read",
                    "create the file, or correct python = \"module:function\" in dent.toml");
    GateResult result = passed("nothing to compile: " + kernel.python);
    result.records.emplace_back(record::Build{hash, {}, {}, 0, {}});
    return result;
  }
  const Built& built = at.builder().build(kernel, at.options.clean);
  const std::filesystem::path log = at.artifacts() / "build.log";
  std::ofstream(log) << built.log;
  const auto kernels = parse_ptxas(built.log);
  LaunchForecast foreseen;
  if (built.ok) foreseen = foresee(kernel, at.workers().problems(), kernels);
  GateResult result = judge(built, kernels, foreseen, log);
  record::Build record{built.source_hash, built.ok ? built.binary_hash : "", "build.log", built.seconds,
                       kernels};
  if (built.ok) record.incumbent_hash = incumbent_hash(at);
  result.records.emplace_back(std::move(record));
  for (record::Prediction& prediction : foreseen.predictions)
    result.records.emplace_back(std::move(prediction));
  return result;
}

const Gate& build_gate() {
  static const BuildGate gate;
  return gate;
}

}  // namespace dent
