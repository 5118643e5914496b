// SPDX-License-Identifier: MIT
#include "gates/sanitize/sanitize.h"

#include <fmt/format.h>

#include <chrono>

#include "base/error.h"
#include "base/stopwatch.h"
#include "system/capture.h"

namespace dent {
namespace {

constexpr double kSlowdown = 50;  // how much longer a call may take under a checker

// The line of a sanitizer's report that says what it found.
std::string finding_in(const std::string& text) {
  for (const char* mark :
       {"ERROR: AddressSanitizer", "runtime error:", "========= Invalid", "========= Program hit"}) {
    const auto at = text.find(mark);
    if (at == std::string::npos) continue;
    return text.substr(at, text.find('\n', at) - at);
  }
  return {};
}

}  // namespace

GateResult SanitizeGate::run(const Kernel& kernel, std::uint64_t seed, const Progress& progress) {
  const Project& project = workshop_.project();
  if (!kernel.python.empty()) return skipped("a Python function has nothing to check");
  if (kernel.sources.empty()) return skipped("a library that dent does not build can't be instrumented");
  if (kernel.device == DeviceKind::cuda && !capture({"compute-sanitizer", "--version"}, 5)) {
    return skipped("compute-sanitizer is not in PATH; it comes with the CUDA toolkit");
  }
  const auto start = std::chrono::steady_clock::now();
  const double seconds = kSlowdown * project.limits.call_seconds;
  progress(0, "building with the checker");
  Random random(seed);
  std::size_t checked = 0;
  try {
    const auto worker = workshop_.start_sanitized(kernel);
    for (const Problem& problem : workshop_.problems()) {
      const double elapsed = seconds_since(start);
      if (checked > 0 && elapsed > project.limits.sanitize_seconds) break;
      progress(static_cast<double>(checked) / static_cast<double>(workshop_.problems().size()),
               problem.shape);
      workshop_.pool().fill(problem, random.next());
      worker->set_problem(message_for(problem, workshop_.pool(), 1, false), seconds);
      worker->prepare({InputPool::draw(problem, random)}, seconds);
      double wall_ns = 0;
      worker->go(seconds, wall_ns);
      const auto kept = worker->keep(0, seconds);
      if (!kept.overruns.empty())
        return failed(Cause::incorrect, "wrote beyond the end of " + kept.overruns.front());
      ++checked;
    }
  } catch (const KernelFailed& problem) {
    const std::string finding = finding_in(problem.failure().last_words);
    if (finding.empty()) throw;
    return failed(Cause::incorrect, finding, "the checker's whole report is in artifacts/sanitized.log",
                  problem.failure().last_words);
  } catch (const Error& problem) {
    if (problem.code() != ErrorCode::environment) throw;
    return skipped(problem.in_one_line());
  }
  return passed(fmt::format("no finding on {} of {} shapes", checked, workshop_.problems().size()));
}

}  // namespace dent
