// SPDX-License-Identifier: MIT
#include "gates/performance/performance.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "gates/correctness/correctness.h"
#include "gates/judging/replays.h"
#include "gates/performance/timed_side.h"
#include "records/sampling_records.h"
#include "base/stopwatch.h"

namespace dent {
namespace {

using nlohmann::json;

constexpr int kFewestChecked = 3;

// Where the machine is too noisy to tell whether the candidate's clock is honest, what may have passed
// uncounted belongs into the interval.
void allow_for_uncounted_time(Comparison& comparison, double uncounted, const PerformanceRules& rules) {
  if (!comparison.ratio || !(uncounted > 0)) return;
  comparison.ratio->interval.low /= 1 + uncounted;
  const SpeedVerdict verdict = judge(comparison.ratio, rules.same_within);
  if (verdict == comparison.verdict) return;
  comparison.verdict = verdict;
  comparison.reason =
      fmt::format("the candidate's clock could not be confirmed to better than {:.1f} % on this busy machine",
                  100 * uncounted);
}

std::string in_words(const Comparison& comparison) {
  if (!comparison.ratio) return fmt::format("{}: {}", name(comparison.verdict), comparison.reason);
  return fmt::format("{} {:.3f}x ({:.3f} to {:.3f}), {:.1f} us against {:.1f} us", name(comparison.verdict),
                     comparison.ratio->centre, comparison.ratio->interval.low,
                     comparison.ratio->interval.high, comparison.candidate_ns / 1e3,
                     comparison.baseline_ns / 1e3);
}

}  // namespace

GateResult PerformanceGate::run(Worker& candidate, Worker& baseline, const Problem& problem,
                                std::uint64_t seed, const Progress& progress) {
  const PerformanceRules& rules = rules_;
  const std::string step = "performance/" + problem.shape;
  Random random(seed);
  workshop_.pool().fill(problem, random.next());
  baseline.pause();
  TimedSide ours(candidate, problem, workshop_, random.next());
  candidate.pause();
  TimedSide theirs(baseline, problem, workshop_, random.next());
  ours.against(baseline);
  theirs.against(candidate);

  SamplingPolicy policy;
  policy.time_box_s = rules.seconds;
  policy.stop.precision = rules.precision;
  policy.compare.same_within = rules.same_within;
  policy.compare.alpha = rules.alpha;
  policy.min_sample_ns = 500e3;
  policy.max_calls = std::min(ours.most_calls(), theirs.most_calls());
  policy.seed = random.next();
  policy.progress = [&](const SamplingProgress& now) {
    progress(now.elapsed_s / now.time_box_s, fmt::format("{}, {} pairs", now.stage, now.pairs));
  };
  Sampling sampling = sample_side_by_side([&](int calls) { return theirs.run(calls); },
                                          [&](int calls) { return ours.run(calls); }, policy);
  for (int i = 0; i < kFewestChecked; ++i)
    ours.keep_one();  // on a slow machine none may have been drawn so far

  // The checks come after all timing: whatever they load is no help to a timed call.
  std::optional<GateResult> finding = left_behind(step, problem);
  const ClockAudit clocks = ours.audit();
  if (!finding && clocks.verdict == ClockVerdict::tampered) {
    finding = cheat("its clock was tampered with", clocks.evidence, step, problem);
  }
  if (clocks.verdict == ClockVerdict::unclear)
    allow_for_uncounted_time(sampling.comparison, clocks.uncounted, rules);
  candidate.pause();
  if (!finding) finding = check_timed_outputs(ours, problem, step);
  GateResult result;
  if (finding) {
    result = *finding;
  } else {
    const Comparison& comparison = sampling.comparison;
    result = passed(in_words(comparison));
    if (comparison.ratio && comparison.ratio->interval.high < rules.stop_below) {
      result = failed(Cause::slower,
                      fmt::format("STOP: {}; below {}x there is a defect to find, nothing to tune",
                                  in_words(comparison), rules.stop_below),
                      "find the defect first: launch configuration, wrong build flags, memory layout");
    } else if (comparison.verdict == SpeedVerdict::slower &&
               comparison.ratio->interval.high < rules.profile_below) {
      result.next = "profile before changing anything";
    }
  }
  json comparison = comparison_record(problem.shape, sampling, policy);
  comparison["bytes"] = problem.bytes;
  if (problem.flops > 0) comparison["flops"] = problem.flops;
  result.records.emplace_back("samples", samples_record(problem.shape, sampling));
  result.records.emplace_back("comparison", std::move(comparison));
  return result;
}

// As many of the kept calls as fit into half a time box, and three at least.
std::optional<GateResult> PerformanceGate::check_timed_outputs(const TimedSide& side, const Problem& problem,
                                                               const std::string& step) {
  const auto start = std::chrono::steady_clock::now();
  Replays replays;
  for (const auto& call : side.kept_calls()) replays.remember(call.offsets, call.outputs);
  int checked = 0;
  for (const auto& call : side.kept_calls()) {
    if (auto finding = misbehaviour(call.kept, step, problem)) return finding;
    const double elapsed = seconds_since(start);
    if (++checked > kFewestChecked && elapsed > rules_.seconds / 2) break;
    const Agreement agreement = oracle_.judge(problem, call.offsets, call.outputs);
    if (agreement.ok()) continue;
    if (agreement.unwritten > 0) {
      return cheat("timed calls left undone",
                   fmt::format("{} elements were never written", agreement.unwritten), step, problem);
    }
    if (replays.seen(call.offsets, call.outputs)) return cheat(kReplayed, agreement.first_bad, step, problem);
    return cheat("wrong in timed calls",
                 agreement.first_bad + ", although the same kernel passed the correctness gate", step,
                 problem);
  }
  return std::nullopt;
}

GateResult summarize(const std::vector<json>& comparisons, const PerformanceRules& rules) {
  std::vector<Ratio> ratios;
  for (const json& record : comparisons) {
    if (!record.contains("ratio")) continue;
    ratios.push_back(ratio_of(record.at("ratio")));
  }
  if (ratios.empty() || ratios.size() < comparisons.size()) {
    GateResult result =
        failed(Cause::ambiguous, "too few samples for an interval", "raise performance.seconds in dent.toml");
    result.records.emplace_back(
        "summary", json{{"verdict", "AMBIGUOUS"}, {"shapes", comparisons.size()}, {"reason", result.reason}});
    return result;
  }
  const Ratio mean = geometric_mean(ratios);
  const SpeedVerdict verdict = judge(mean, rules.same_within);
  const std::string reason =
      fmt::format("{:.3f}x ({:.3f} to {:.3f}), geometric mean over {} {}", mean.centre, mean.interval.low,
                  mean.interval.high, ratios.size(), ratios.size() == 1 ? "shape" : "shapes");
  GateResult result = passed(reason);
  if (verdict == SpeedVerdict::slower)
    result = failed(Cause::slower, reason, "profile, then change one thing");
  if (verdict == SpeedVerdict::ambiguous) {
    result =
        failed(Cause::ambiguous, reason, "close other programs, or raise performance.seconds in dent.toml");
  }
  result.records.emplace_back("summary", json{{"verdict", name(verdict)},
                                              {"ratio", ratio_record(mean)},
                                              {"shapes", ratios.size()},
                                              {"reason", reason}});
  return result;
}

}  // namespace dent
