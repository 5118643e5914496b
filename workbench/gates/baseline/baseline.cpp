// SPDX-License-Identifier: MIT
#include "gates/baseline/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/error.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "gates/performance/timed_side.h"
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

}  // namespace

// The quickest stretch: what the baseline can do when nothing disturbs it, which is what must reproduce.
double BaselineGate::fastest_ns(Worker& baseline, const Problem& problem, std::uint64_t seed,
                                double seconds) {
  workshop_.pool().fill(problem, seed);
  TimedSide side(baseline, problem, workshop_, seed);
  double least = 0;
  const auto start = Clock::now();
  do {
    const double ns = side.run(kCalls).ns / kCalls;
    least = least == 0 ? ns : std::min(least, ns);
  } while (seconds_since(start) < seconds);
  return least;
}

GateResult BaselineGate::run(Worker& baseline, const std::string& name, const std::string& machine,
                             Oracle& oracle, std::uint64_t seed, const Progress& progress) {
  const double within = workshop_.project().performance.baseline_within;
  const double limit_s = workshop_.project().limits.call_seconds;
  Book book = read_book(record_);
  auto& record = book.baselines[key_of(machine, name, baseline.loaded())];
  if (forget_) record.clear();
  const std::map<std::string, double> known = record;
  std::map<std::string, double> now;
  std::string off;
  const auto& problems = workshop_.problems();
  for (std::size_t p = 0; p < problems.size(); ++p) {
    const Problem& problem = problems[p];
    progress(static_cast<double>(p) / static_cast<double>(problems.size()), problem.shape);
    // A wrong baseline is no baseline.
    Random random(seed + p);
    workshop_.pool().fill(problem, random.next());
    const auto offsets = InputPool::draw(problem, random);
    double wall_ns = 0;
    baseline.set_problem(message_for(problem, workshop_.pool(), 1, false), limit_s);
    baseline.prepare({offsets}, limit_s);
    baseline.go(limit_s, wall_ns);
    const auto kept = baseline.keep(0, limit_s);
    if (!kept.mismatches.empty())
      return failed(Cause::environment, "baseline " + name + ": " + kept.mismatches.front());
    const Agreement agreement = oracle.judge(problem, offsets, delivered(baseline, problem));
    if (!agreement.ok()) {
      return failed(Cause::environment,
                    fmt::format("baseline {} is wrong on {}: {}", name, problem.shape, agreement.first_bad),
                    "mend the baseline, or the operator's description in dent.toml");
    }
    const auto recorded = known.find(problem.shape);
    const double expected = recorded == known.end() ? 0 : recorded->second;
    double ns = 0;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      const double again = fastest_ns(baseline, problem, random.next(), kSecondsPerShape * (1 << attempt));
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
    write_durably(record_, to_json_text(book) + "\n");
  }
  return result;
}

}  // namespace dent
