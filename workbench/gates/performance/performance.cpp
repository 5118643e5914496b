// SPDX-License-Identifier: MIT
#include "gates/performance/performance.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/stopwatch.h"
#include "gates/judging/misbehaviour.h"
#include "gates/judging/replays.h"
#include "gates/performance/timed_side.h"

namespace dent {
namespace {

constexpr int kFewestChecked = 3;
constexpr double kSlack = 1.05;  // over a data sheet's peaks: boost clocks

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
    finding = cheat(Cheat::clock_tampered, clocks.evidence, step, problem.shape);
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
      result = passed(in_words(comparison), "profile before changing anything");
    }
  }
  record::Comparison comparison = record::comparison_of(problem.shape, against_, sampling, policy);
  comparison.bytes = problem.bytes;
  if (problem.flops > 0) comparison.flops = problem.flops;
  result.records.emplace_back(record::samples_of(problem.shape, against_, sampling));
  result.records.emplace_back(std::move(comparison));
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
      return cheat(Cheat::calls_left_undone,
                   fmt::format("{} elements were never written", agreement.unwritten), step, problem.shape);
    }
    if (replays.seen(call.offsets, call.outputs))
      return cheat(Cheat::replayed_output, agreement.first_bad, step, problem.shape);
    return cheat(Cheat::wrong_when_timed,
                 agreement.first_bad + ", although the same kernel passed the correctness gate", step,
                 problem.shape);
  }
  return std::nullopt;
}

GateResult summarize(const std::vector<record::Comparison>& comparisons, const PerformanceRules& rules) {
  const int shapes = static_cast<int>(comparisons.size());
  std::vector<Ratio> ratios;
  for (const record::Comparison& comparison : comparisons) {
    if (comparison.ratio) ratios.push_back(*comparison.ratio);
  }
  if (ratios.empty() || ratios.size() < comparisons.size()) {
    GateResult result =
        failed(Cause::ambiguous, "too few samples for an interval", "raise performance.seconds in dent.toml");
    result.records.emplace_back(record::Summary{SpeedVerdict::ambiguous, {}, shapes, result.reason()});
    return result;
  }
  const Ratio mean = geometric_mean(ratios);
  const SpeedVerdict verdict = judge(mean, rules.same_within);
  const std::string reason =
      fmt::format("{:.3f}x ({:.3f} to {:.3f}), geometric mean over {} {}", mean.centre, mean.interval.low,
                  mean.interval.high, shapes, shapes == 1 ? "shape" : "shapes");
  GateResult result = passed(reason);
  if (verdict == SpeedVerdict::slower)
    result = failed(Cause::slower, reason, "profile, then change one thing");
  if (verdict == SpeedVerdict::ambiguous) {
    result =
        failed(Cause::ambiguous, reason, "close other programs, or raise performance.seconds in dent.toml");
  }
  result.records.emplace_back(record::Summary{verdict, mean, shapes, reason});
  return result;
}

void refuse_the_impossible(GateResult& result, const Problem& problem, const Peaks& peaks, bool flushed) {
  const auto* comparison = result.last<record::Comparison>();
  const bool cheated = result.failed() != nullptr && result.failed()->cause == Cause::cheat;
  if (comparison == nullptr || !(comparison->candidate_ns > 0) || cheated) return;
  const double ns = comparison->candidate_ns;
  double input_bytes = 0;
  for (const Tensor& tensor : problem.inputs) input_bytes += static_cast<double>(tensor.bytes());
  std::string evidence;
  if (problem.flops / ns > kSlack * peaks.gflops) {
    evidence = fmt::format("{:.0f} GFLOP/s on a device of {:.0f}", problem.flops / ns, peaks.gflops);
  } else if (flushed && input_bytes / ns > kSlack * peaks.gbs) {
    evidence = fmt::format("inputs read at {:.0f} GB/s on a device of {:.0f}", input_bytes / ns, peaks.gbs);
  }
  if (evidence.empty()) return;
  GateResult refused = cheat(Cheat::beyond_device, evidence, "performance/" + problem.shape, problem.shape);
  refused.records.insert(refused.records.end(), result.records.begin(), result.records.end());
  result = std::move(refused);
}

}  // namespace dent
