// SPDX-License-Identifier: MIT
// Measures one shape's speed: candidate and opponent in random order until the interval is narrow or the time
// box ends; then checks the outputs of timed calls.
#include <fmt/format.h>

#include <algorithm>

#include "gates/context.h"
#include "gates/judging/misbehaviour.h"
#include "gates/judging/stale.h"
#include "gates/performance/gpu_clock.h"
#include "gates/performance/impossible.h"
#include "gates/performance/starts.h"
#include "gates/performance/summary.h"
#include "gates/performance/timed_outputs.h"
#include "gates/performance/timed_side.h"
#include "gates/performance/watch.h"
#include "gates/registry.h"
#include "measure/measuring_clock.h"
#include "measure/sampler.h"
#include "predict/peaks.h"

namespace dent {
namespace {

constexpr double kSampleNs = 500e3;

// Upper limit of the time for inputs that a function makes for each call. Making and copying them may take
// longer than the measurement, so it is not part of the time box.
double most_of_inputs(const PerformanceRules& rules) { return 10 * rules.seconds; }

// Widens the interval by uncounted time if a noisy machine leaves open whether the candidate's clock is
// honest, and by the time that other programs took from either side.
void add_doubt(record::Comparison& comparison, const Sampling& sampling, const ClockAudit& clocks) {
  Doubt doubt;
  if (clocks.verdict == ClockVerdict::unclear) doubt.low = std::max(0.0, clocks.uncounted);
  if (comparison.busy) {
    comparison.taken = taken_of(comparison, sampling);
    doubt = both(doubt, *comparison.taken);
  }
  if (!comparison.ratio || doubt == Doubt{}) return;
  comparison.doubt = doubt;
  comparison.ratio = widened(*comparison.ratio, doubt);
  if (comparison.verdict == SpeedVerdict::ambiguous) return;  // for another reason, which stays
  const SpeedVerdict verdict = judge(comparison.ratio, comparison.same_within);
  if (verdict == comparison.verdict) return;
  comparison.verdict = verdict;
  comparison.reason =
      comparison.busy ? busy_in_words(*comparison.disturbance)
                      : fmt::format("the candidate's clock could not be confirmed to better than {:.1f} %",
                                    100 * doubt.low);
}

std::string in_words(const record::Comparison& comparison) {
  const std::string verdict = verdict_words(comparison);
  std::string busy = comparison.busy ? "; " + busy_in_words(*comparison.disturbance) : std::string();
  if (comparison.starts > 1) busy = fmt::format(", over {} starts{}", comparison.starts, busy);
  if (!comparison.ratio) return fmt::format("{}: {}{}", verdict, comparison.reason, busy);
  return fmt::format("{} {:.3f}x ({:.3f} to {:.3f}), {:.1f} us against {:.1f} us{}", verdict,
                     comparison.ratio->centre, comparison.ratio->interval.low,
                     comparison.ratio->interval.high, comparison.candidate_ns / 1e3,
                     comparison.baseline_ns / 1e3, busy);
}

// Text about setup() times, which are spent once for constant inputs and are in no timed call.
std::string besides(const TimedSide& ours, const TimedSide& theirs) {
  std::string text;
  if (ours.setup_ns() > 0) text += fmt::format("; plus {:.1f} us for its setup", ours.setup_ns() / 1e3);
  if (theirs.setup_ns() > 0)
    text += fmt::format("; the baseline's setup takes {:.1f} us", theirs.setup_ns() / 1e3);
  return text;
}

// Measures for one time box.
GateResult measure(GateContext& at, const PerformanceRules& rules, std::uint64_t seed) {
  const Problem& problem = *at.problem;
  Worker& candidate = at.sides.candidate();
  Worker& opponent = at.sides.opponent();
  const std::string& step = at.step;
  Random random(seed);
  DeviceTurns::Turn alone = at.workers().turns().take_gpu();
  at.workers().inputs().renew(problem, random.next());
  opponent.pause();
  TimedSide ours(candidate, problem, at.workers(), random.next());
  candidate.pause();
  TimedSide theirs(opponent, problem, at.workers(), random.next());
  ours.against(opponent);
  theirs.against(candidate);

  std::optional<record::Clock> clock;
  if (candidate.loaded().device == DeviceKind::cuda && opponent.loaded().device == DeviceKind::cuda) {
    clock = choose_gpu_clock(ours.try_clocks(), theirs.try_clocks());
    for (TimedSide* side : {&ours, &theirs}) side->time_in_graph(clock->by == TimedBy::graph);
  }

  SamplingPolicy policy;
  policy.time_box_s = rules.seconds;
  policy.stop.precision = rules.precision;
  policy.compare.same_within = rules.same_within;
  policy.compare.alpha = rules.alpha;
  policy.min_sample_ns = kSampleNs;
  if (clock) sample_on_gpu(policy, *clock, problem.has_sets());
  policy.max_calls = std::min(ours.most_calls(), theirs.most_calls());
  policy.seed = random.next();
  const auto seconds_of_inputs = [&] { return ours.seconds_of_inputs() + theirs.seconds_of_inputs(); };
  policy.now_s = [&, started_s = measuring_clock_s(), before_s = seconds_of_inputs(),
                  most_s = most_of_inputs(rules)] {
    return measuring_clock_s() - started_s - std::min(seconds_of_inputs() - before_s, most_s);
  };
  policy.progress = [&](const SamplingProgress& now) {
    at.progress(now.elapsed_s / now.time_box_s, fmt::format("{}, {} pairs", now.stage, now.pairs));
  };
  const Watch watch({candidate.group(), opponent.group()});
  // A GPU works without the processors, unless it waits for the host in each call. Preflight checks whether
  // other programs use the GPU.
  const bool on_processors = at.kernel().device == DeviceKind::cpu || (clock && takes_the_hosts_time(*clock));
  policy.quiet = [&] { return !on_processors || !is_busy(watch.so_far(), rules.quiet); };
  const Sampling sampling = sample_side_by_side([&](int calls) { return theirs.run(calls); },
                                                [&](int calls) { return ours.run(calls); }, policy);
  const Disturbance disturbance = watch.so_far();
  for (int i = 0; i < kFewestChecked; ++i)
    ours.keep_one();  // on a slow machine no call may have been kept so far

  // Checks come after all timing, so that what they load into caches can't help a timed call.
  opponent.check_code();
  std::optional<GateResult> finding = left_behind(candidate, step, problem);
  const ClockAudit clocks = ours.audit();
  if (!finding && clocks.verdict == ClockVerdict::tampered) {
    finding = cheat(Cheat::clock_tampered, clocks.evidence, step, problem.shape);
  }
  if (!finding) candidate.check_own_code();
  candidate.pause();
  alone = {};
  if (!finding) finding = check_timed_outputs(at, ours, rules.seconds);
  record::Comparison comparison = record::comparison_of(problem.shape, at.sides.against(), sampling, policy);
  comparison.clock = clock;
  comparison.bytes = problem.bytes;
  comparison.weight = problem.weight;
  if (problem.flops > 0) comparison.flops = problem.flops;
  comparison.disturbance = disturbance;
  comparison.busy = on_processors && is_busy(disturbance, rules.quiet);
  add_doubt(comparison, sampling, clocks);
  if (!finding && may_be_where_they_lie(comparison, candidate.loaded(), opponent.loaded()))
    finding = judge_over_starts(at, comparison, random);
  comparison.too_busy = too_busy_to_tell(speed_of(comparison), comparison.same_within);
  GateResult result;
  if (finding) {
    result = *finding;
  } else {
    result = passed(in_words(comparison) + besides(ours, theirs));
    if (comparison.ratio && comparison.ratio->interval.high < rules.stop_below) {
      result = failed(Cause::slower,
                      fmt::format("STOP: {}; below {}x there is a defect to find, not a parameter to tune",
                                  in_words(comparison), rules.stop_below),
                      "find the defect first: launch configuration, wrong build flags, memory layout");
    } else if (comparison.verdict == SpeedVerdict::slower &&
               comparison.ratio->interval.high < rules.profile_below) {
      result = passed(in_words(comparison), "profile before changing anything");
    }
  }
  for (const auto& [whose, side] : {std::pair{"candidate", &ours}, {"baseline", &theirs}}) {
    if (side->setup_ns() > 0)
      result.figures.push_back({fmt::format("setup of the {}", whose), side->setup_ns() / 1e3, "us"});
  }
  result.records.emplace_back(record::samples_of(problem.shape, at.sides.against(), sampling));
  result.records.emplace_back(std::move(comparison));
  return result;
}

// A GPU's peaks from its data sheet. A CPU's peaks are measured, so they are no upper bound.
std::optional<Peaks> upper_bounds(const GateContext& at) {
  return at.kernel().device == DeviceKind::cuda ? gpu_peaks(at.facts.session().device_name) : std::nullopt;
}

bool has_interval(const GateResult& result) {
  const auto* comparison = result.last<record::Comparison>();
  return comparison != nullptr && comparison->ratio.has_value();
}

class PerformanceGate : public Gate {
  const GateInfo& info() const override {
    static const GateInfo kInfo{
        .name = "performance",
        .command = "bench",
        .question = "How fast is it?",
        .about = "Check the kernel's results and measure its speed against the baseline",
        .passes_when =
            "not slower. FASTER, SLOWER, SAME or AMBIGUOUS for each shape and as geometric mean, each with a "
            "95 % interval",
        .otherwise = "below 0.5x the session stops",
        .example = "  dent bench --shape medium",
        .scope = Scope::each_shape,
        .uses = Uses::device,
        .needs = {"build", "baseline", "correctness"},  // the speed of a wrong kernel means nothing
        .times = true,
        .kinds = {"samples", "comparison", "summary", "roofline", "cheat"}};
    return kInfo;
  }

  PlanEntry plan(const Project& project) const override {
    const PerformanceRules& speed = project.performance;
    return {speed.seconds,
            fmt::format("interval narrower than {:.1f} % or time box; below {}x stops the session",
                        100 * speed.precision, speed.stop_below),
            fmt::format("{}x", speed.profile_below)};
  }

  std::optional<PlanEntry> plan_of_sum(const Project&) const override {
    return PlanEntry{1, "geometric mean over shapes", "1x"};
  }

  GateResult run(GateContext& at) const override {
    at.progress(0, "starting workers");
    at.sides.candidate();
    if (auto found = stale_build(at)) return *std::move(found);
    PerformanceRules rules = at.rules.performance;
    Random random(at.seed);
    GateResult result;
    for (int box = 0; box < at.rules.time_boxes; ++box, rules.seconds *= 2) {
      result = measure(at, rules, random.next());
      if (result.failed() != nullptr || has_interval(result)) break;
    }
    if (const auto peaks = upper_bounds(at))
      refuse_the_impossible(result, *at.problem, *peaks, rules.flush, at.step);
    return result;
  }

  GateResult sum_up(GateContext& at) const override {
    GateResult result = summarize(at.facts.comparisons(Against::baseline), at.project().performance);
    if (const auto peaks = device_peaks(at.kernel().device, at.facts.session().device_name))
      result.records.emplace_back(roofline_of(*peaks));
    return result;
  }
};

}  // namespace

const Gate& performance_gate() {
  static const PerformanceGate gate;
  return gate;
}

}  // namespace dent
