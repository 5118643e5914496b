// SPDX-License-Identifier: MIT
#include "gates/baseline/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "gates/performance/timed_side.h"
#include "records/json_text.h"
#include "system/durable_file.h"
#include "base/text.h"
#include "base/stopwatch.h"

namespace dent {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
constexpr double kSecondsPerShape = 0.25;
constexpr int kTries = 4;  // each twice as long: a busy moment is no changed baseline
constexpr int kCalls = 8;

json read_record(const std::filesystem::path& file) {
  json record = parse_json(text_of(file));
  return record.is_object() ? record : json::object();
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
  json record = read_record(record_);
  const std::string key = machine + " / " + name + " / " + baseline.loaded().dump();
  const json known = forget_ ? json::object() : record.value(key, json::object());
  json now = json::object();
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
    const double expected = known.value(problem.shape, 0.0);
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
  GateResult result =
      off.empty() ? passed(fmt::format("{} reproduces within {:.0f} % on {} shapes", name, 100 * within,
                                       problems.size()))
                  : failed(Cause::environment, off,
                           "find out what has changed (load, clocks, versions); if it is meant to be so: "
                           "dent run --rebaseline");
  if (known.empty())
    result.reason =
        fmt::format("{} measured on {} shapes and recorded for this machine", name, problems.size());
  result.evidence = {{"baseline", name}, {"fastest_ns", now}};
  if (off.empty()) {
    for (const auto& [shape, ns] : now.items()) {
      if (!known.contains(shape)) record[key][shape] = ns;
    }
    write_durably(record_, record.dump(1) + "\n");
  }
  return result;
}

}  // namespace dent
