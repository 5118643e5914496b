// SPDX-License-Identifier: MIT
#include "gates/preflight/preflight.h"

#include <fmt/format.h>

namespace dent {

GateResult PreflightGate::run(const Progress& progress) {
  const Project& project = workshop_.project();
  std::vector<Check> checks;
  const auto add = [&](std::vector<Check> more) { checks.insert(checks.end(), more.begin(), more.end()); };
  progress(0.0, "compilers");
  add(compiler_checks(project));
  progress(0.2, "machine");
  add(machine_checks(project));
  progress(0.4, "Python");
  add(python_checks(project, workshop_.python()));
  progress(0.8, "GPU");
  add(gpu_checks(project));

  GateResult result;
  int passes = 0, notes = 0;
  for (const Check& check : checks) {
    if (check.verdict == StepVerdict::pass) ++passes;
    if (check.verdict == StepVerdict::skipped && !check.fix.empty()) ++notes;
    if (check.verdict == StepVerdict::fail && result.failed() == nullptr)
      result = failed(Cause::environment, check.name + ": " + check.found, check.fix);
  }
  if (result.failed() == nullptr) {
    result = passed(fmt::format("{} checks passed{}", passes,
                                notes > 0 ? fmt::format(", {} to know about (dent preflight)", notes) : ""));
  }
  for (const Check& check : checks)
    result.records.emplace_back(
        record::Check{"preflight", check.name, check.found, check.verdict, check.fix});
  return result;
}

}  // namespace dent
