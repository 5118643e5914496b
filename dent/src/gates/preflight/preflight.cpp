// SPDX-License-Identifier: MIT
// Checks that the machine is ready. Every check says what it found and, if that is not sufficient, how to fix
// it.
#include <fmt/format.h>

#include "gates/context.h"
#include "gates/preflight/checks.h"
#include "gates/registry.h"

namespace dent {
namespace {

class PreflightGate : public Gate {
  const GateInfo& info() const override {
    static const GateInfo kInfo{
        .name = "preflight",
        .command = "preflight",
        .question = "Is this machine ready?",
        .about = "Check that this machine is ready; says what is missing and how to fix it",
        .passes_when =
            "compilers, memory, disk, Python and GPU (present, idle, not throttled) are as the project needs "
            "them",
        .otherwise = "each check says what it found and the fix",
        .example = "  dent preflight",
        .kinds = {"check"}};
    return kInfo;
  }

  PlanEntry plan(const Project& project) const override {
    return {project.limits.preflight_seconds, "the first check that fails stops the session"};
  }

  GateResult run(GateContext& at) const override;
};

}  // namespace

GateResult PreflightGate::run(GateContext& at) const {
  const Project& project = at.project();
  std::vector<Check> checks;
  const auto add = [&](std::vector<Check> more) { checks.insert(checks.end(), more.begin(), more.end()); };
  at.progress(0.0, "compilers");
  add(compiler_checks(project));
  at.progress(0.2, "machine");
  add(machine_checks(project));
  add(wall_checks(at.workers().cell()));
  at.progress(0.4, "Python");
  add(python_checks(project, at.workers().python()));
  at.progress(0.8, "GPU");
  {
    const DeviceTurns::Turn alone = at.workers().turns().take_gpu();  // so that no other dent uses the GPU
    add(gpu_checks(project));
  }

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
                                notes > 0 ? fmt::format(", {} with notes (dent preflight)", notes) : ""));
  }
  for (const Check& check : checks)
    result.records.emplace_back(record::Check{at.step, check.name, check.found, check.verdict, check.fix});
  return result;
}

const Gate& preflight_gate() {
  static const PreflightGate gate;
  return gate;
}

}  // namespace dent
