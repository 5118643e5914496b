// SPDX-License-Identifier: MIT
// Is what we compare with what it was? Measured before anything else, and held against the last time on this
// machine.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/error.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "gates/context.h"
#include "gates/judging/call.h"
#include "gates/performance/timed_side.h"
#include "gates/registry.h"
#include "records/json.h"
#include "system/durable_file.h"

namespace dent {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kSecondsPerShape = 0.25;
constexpr int kTries = 4;  // each twice as long: a busy moment is no changed baseline
constexpr int kCalls = 8;

// What baselines took on which machine, in nanoseconds by shape. Kept in .dent/baselines.json.
struct Book {
  std::map<std::string, std::map<std::string, double>> baselines;
};

void fields(Fields& f, Book& book) {
  f("baselines", book.baselines, "by machine, baseline and versions: fastest time by shape, in ns");
}

Book read_book(const std::filesystem::path& file) {
  try {
    return from_json_text<Book>(text_of(file));
  } catch (const Error&) {  // none was written yet
    return {};
  }
}

// What a recorded time holds for: another machine, baseline or version of what it runs on starts over.
std::string key_of(const std::string& machine, const std::string& baseline, const protocol::Loaded& loaded) {
  std::string key = fmt::format("{} / {} / {} {}", machine, baseline, name(loaded.kind), name(loaded.device));
  for (const auto& [what, version] : loaded.versions) key += fmt::format(", {} {}", what, version);
  return key;
}

// The quickest stretch: what the baseline can do when nothing disturbs it, which is what must reproduce.
double fastest_ns(GateContext& at, const Problem& problem, std::uint64_t seed, double seconds) {
  at.workers().pool().fill(problem, seed);
  TimedSide side(at.sides.opponent(), problem, at.workers(), seed);
  double least = 0;
  const auto start = Clock::now();
  do {
    const double ns = side.run(kCalls).ns / kCalls;
    least = least == 0 ? ns : std::min(least, ns);
  } while (seconds_since(start) < seconds);
  return least;
}

class BaselineGate : public Gate {
  const GateInfo& info() const override {
    static const GateInfo kInfo{
        .name = "baseline",
        .command = "",
        .question = "Is the baseline right, and as fast as it was?",
        .about = "Measures what the kernel is compared with, and holds it against the last time",
        .passes_when = "it is right, and as fast as recorded for this machine, within 10 %",
        .otherwise = "the session stops: find out what has changed, or `--rebaseline`",
        .uses = Uses::device,
        .needs = {"build"},
        .options = {{"rebaseline", "Forget the baseline that was recorded for this machine",
                     &GateOptions::rebaseline}}};
    return kInfo;
  }

  PlanEntry plan(const Project& project) const override {
    return {10.0 * static_cast<double>(project.shapes.size()), "stops when the baseline does not reproduce",
            fmt::format("within {:.0f} %", 100 * project.performance.baseline_within)};
  }

  GateResult run(GateContext& at) const override;
};

}  // namespace

GateResult BaselineGate::run(GateContext& at) const {
  Worker& baseline = at.sides.opponent();
  const std::string& name = at.facts.session().baseline;
  const std::filesystem::path file = at.store.folder() / "baselines.json";
  const double within = at.project().performance.baseline_within;
  Book book = read_book(file);
  auto& record = book.baselines[key_of(at.facts.machine_name(), name, baseline.loaded())];
  if (at.options.rebaseline) record.clear();
  const std::map<std::string, double> known = record;
  std::map<std::string, double> now;
  std::string off;
  const auto& problems = at.workers().problems();
  for (std::size_t p = 0; p < problems.size(); ++p) {
    const Problem& problem = problems[p];
    at.progress(static_cast<double>(p) / static_cast<double>(problems.size()), problem.shape);
    // A wrong baseline is no baseline.
    Random random(at.seed + p);
    const CallInputs inputs = draw_inputs(at.workers(), problem, random);
    const Call call = call_once(baseline, problem, inputs, at.workers(), at.project().limits.call_seconds);
    if (!call.kept.mismatches.empty())
      return failed(Cause::environment, "baseline " + name + ": " + call.kept.mismatches.front());
    const Agreement agreement = at.sides.oracle().judge(problem, inputs.offsets, call.outputs);
    if (!agreement.ok()) {
      return failed(Cause::environment,
                    fmt::format("baseline {} is wrong on {}: {}", name, problem.shape, agreement.first_bad),
                    "mend the baseline, or the operator's description in dent.toml");
    }
    const auto recorded = known.find(problem.shape);
    const double expected = recorded == known.end() ? 0 : recorded->second;
    double ns = 0;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      const double again = fastest_ns(at, problem, random.next(), kSecondsPerShape * (1 << attempt));
      ns = ns == 0 ? again : std::min(ns, again);
      if (expected == 0 || (ns <= expected * (1 + within) && ns >= expected / (1 + within))) break;
    }
    now[problem.shape] = ns;
    if (expected > 0 && (ns > expected * (1 + within) || ns < expected / (1 + within)) && off.empty()) {
      off = fmt::format("{} takes {:.1f} us on {}; it took {:.1f} us before on this machine ({:+.0f} %)",
                        name, ns / 1e3, problem.shape, expected / 1e3, 100 * (ns / expected - 1));
    }
  }
  GateResult result;
  if (!off.empty()) {
    result = failed(Cause::environment, off,
                    "find out what has changed (load, clocks, versions); if it is meant to be so: "
                    "dent run --rebaseline");
  } else if (known.empty()) {
    result =
        passed(fmt::format("{} measured on {} shapes and recorded for this machine", name, problems.size()));
  } else {
    result = passed(
        fmt::format("{} reproduces within {:.0f} % on {} shapes", name, 100 * within, problems.size()));
  }
  for (const auto& [shape, ns] : now) result.figures.push_back({"fastest " + shape, ns, "ns"});
  if (off.empty()) {
    for (const auto& [shape, ns] : now) record.emplace(shape, ns);
    write_durably(file, to_json_text(book) + "\n");
  }
  return result;
}

const Gate& baseline_gate() {
  static const BaselineGate gate;
  return gate;
}

}  // namespace dent
