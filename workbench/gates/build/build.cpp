// SPDX-License-Identifier: MIT
#include "gates/build/build.h"

#include <fmt/format.h>

#include <fstream>

#include "base/sha256.h"
#include "build/ptxas.h"
#include "predict/launch_forecast.h"

namespace dent {
namespace {

// The file that a Python function lives in, as far as it can be told without running it.
std::filesystem::path python_file(const Project& project, const Kernel& kernel) {
  std::string module = kernel.python.substr(0, kernel.python.find(':'));
  for (char& c : module) c = c == '.' ? '/' : c;
  return (kernel.directory.empty() ? project.directory : kernel.directory) / (module + ".py");
}

GateResult judge(const Built& built, const std::vector<KernelResources>& kernels,
                 const LaunchForecast& foreseen) {
  if (!built.ok) {
    const bool late = built.how == Ending::Kind::timed_out;
    return failed(late ? Cause::timeout : Cause::build, built.problem,
                  late                ? "raise limits.build_seconds in dent.toml"
                  : built.log.empty() ? ""
                                      : "the compiler's whole output is in artifacts/build.log",
                  built.log.substr(built.log.size() > 2000 ? built.log.size() - 2000 : 0));
  }
  if (const std::string beyond = beyond_limits(kernels); !beyond.empty())
    return failed(Cause::build, beyond, "declare it extern __shared__ and ask for it at launch");
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

}  // namespace

GateResult BuildGate::run(const Kernel& kernel, const Progress& progress) {
  const Project& project = workshop_.project();
  progress(0, "building " + kernel.name);
  if (!kernel.python.empty()) {
    const auto file = python_file(project, kernel);
    const std::string hash = sha256_of_file(file);
    if (hash.empty()) return failed(Cause::build, file.string() + " can't be read");
    GateResult result = passed("nothing to compile: " + kernel.python);
    result.records.emplace_back(record::Build{hash, {}, {}, 0, {}});
    return result;
  }
  const Built& built = workshop_.build(kernel, clean_);
  std::ofstream(workshop_.logs() / "build.log") << built.log;
  const auto kernels = parse_ptxas(built.log);
  LaunchForecast foreseen;
  if (built.ok) foreseen = foresee(kernel, workshop_.problems(), kernels);
  GateResult result = judge(built, kernels, foreseen);
  result.records.emplace_back(record::Build{built.source_hash, built.ok ? built.binary_hash : "", "build.log",
                                            built.seconds, kernels});
  for (record::Prediction& prediction : foreseen.predictions)
    result.records.emplace_back(std::move(prediction));
  return result;
}

}  // namespace dent
