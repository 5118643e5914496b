// SPDX-License-Identifier: MIT
// Checks memory accesses: runs every shape once under AddressSanitizer (C++) or compute-sanitizer (CUDA, and
// Python functions on a GPU).
#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "gates/context.h"
#include "gates/judging/call.h"
#include "gates/registry.h"
#include "system/capture.h"

namespace dent {
namespace {

constexpr double kSlowdown = 50;       // factor on a call's time under a checker
constexpr double kReportSeconds = 60;  // for the checker to finish

// The line of a sanitizer's report that names the error.
std::string finding_in(const std::string& text) {
  for (const char* mark :
       {"ERROR: AddressSanitizer", "runtime error:", "========= Invalid", "========= Program hit"}) {
    const auto at = text.find(mark);
    if (at == std::string::npos) continue;
    return text.substr(at, text.find('\n', at) - at);
  }
  return {};
}

class SanitizeGate : public Gate {
  const GateInfo& info() const override {
    static const GateInfo kInfo{.name = "sanitize",
                                .command = "sanitize",
                                .question = "Does it touch memory that is not its own?",
                                .about = "Run the kernel under AddressSanitizer or compute-sanitizer",
                                .passes_when = "AddressSanitizer or compute-sanitizer finds nothing",
                                .otherwise = "its finding",
                                .example = "  dent sanitize",
                                .uses = Uses::device,
                                .needs = {"build"},
                                .in_run = InRun::when_asked};
    return kInfo;
  }

  PlanEntry plan(const Project& project) const override {
    return {project.limits.sanitize_seconds, "the first finding stops the session"};
  }

  GateResult run(GateContext& at) const override;
};

}  // namespace

GateResult SanitizeGate::run(GateContext& at) const {
  const Kernel& kernel = at.kernel();
  const std::vector<Problem>& problems = at.workers().problems();
  const bool python = !kernel.python.empty();
  if (python && kernel.device == DeviceKind::cpu)
    return skipped("a Python function on the CPU has nothing to check");
  if (!python && kernel.sources.empty())
    return skipped("a library that dent does not build can't be instrumented");
  if (kernel.device == DeviceKind::cuda && !capture({"compute-sanitizer", "--version"}, 5)) {
    return skipped("compute-sanitizer is not in PATH; it comes with the CUDA toolkit");
  }
  const double seconds = kSlowdown * at.project().limits.call_seconds;
  at.progress(0, python ? "starting it under the checker" : "building with the checker");
  Random random(at.seed);
  std::size_t checked = 0;
  const std::filesystem::path log = at.artifacts() / "sanitized.log";
  const auto found = [&log](const std::string& finding, std::string last_words) {
    return failed(Cause::incorrect, finding,
                  fmt::format("fix the error; the checker's whole report: less '{}'", log.string()),
                  std::move(last_words));
  };
  try {
    const auto worker = at.workers().start_sanitized(kernel, at.artifacts());
    for (const Problem& problem : problems) {
      if (checked > 0 && at.box.over()) break;
      at.progress(static_cast<double>(checked) / static_cast<double>(problems.size()), problem.shape);
      const CallInputs inputs = draw_inputs(at.workers(), problem, random);
      const Call call = call_once(*worker, problem, inputs, at.workers(), seconds);
      if (!call.kept.overruns.empty())
        return failed(Cause::incorrect, "wrote beyond the end of " + call.kept.overruns.front(),
                      "check the kernel's bounds, then: dent check --shape " + problem.shape);
      ++checked;
    }
    worker->finish(kReportSeconds);
    if (const std::string finding = finding_in(text_of(log)); !finding.empty()) return found(finding, {});
  } catch (const KernelFailed& problem) {
    const std::string finding = finding_in(text_of(log));
    if (finding.empty()) throw;
    return found(finding, problem.failure().last_words);
  } catch (const Error& problem) {
    if (problem.code() != ErrorCode::environment) throw;
    return skipped(problem.in_one_line());
  }
  return passed(fmt::format("no finding on {} of {} shapes", checked, problems.size()));
}

const Gate& sanitize_gate() {
  static const SanitizeGate gate;
  return gate;
}

}  // namespace dent
