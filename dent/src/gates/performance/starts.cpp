// SPDX-License-Identifier: MIT
#include "gates/performance/starts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gates/judging/misbehaviour.h"
#include "gates/performance/gpu_clock.h"
#include "gates/performance/timed_outputs.h"
#include "gates/performance/timed_side.h"
#include "measure/sampler.h"

namespace dent {
namespace {

constexpr double kShortNs = 1e6;           // longer calls are hardly affected by placement
constexpr double kMostByLuck = 1.25;       // larger differences can't come from placement
constexpr double kMostByLuckOnGpu = 1.05;  // on a GPU, if the host is ahead of it
constexpr double kSecondsPerStart = 1;     // at most
constexpr int kPairsPerStart = 12;
constexpr double kStartSampleNs = 500e3;

bool quick_to_start(const protocol::Loaded& side) {
  return side.kind == protocol::WorkerKind::native && side.device == DeviceKind::cpu;
}
bool on_gpu(const protocol::Loaded& side) { return side.device == DeviceKind::cuda; }

SamplingPolicy policy_of(const record::Comparison& comparison, bool made, std::uint64_t seed) {
  SamplingPolicy policy;
  policy.time_box_s = kSecondsPerStart;
  policy.stop.min_pairs = policy.stop.max_pairs = kPairsPerStart;
  policy.compare.same_within = comparison.same_within;
  policy.compare.alpha = comparison.alpha;
  policy.min_sample_ns = kStartSampleNs;
  if (comparison.clock) sample_on_gpu(policy, *comparison.clock, made);
  policy.seed = seed;
  return policy;
}

Sampling sample_one_start(TimedSide& ours, TimedSide& theirs, SamplingPolicy policy) {
  policy.max_calls = std::min(ours.most_calls(), theirs.most_calls());
  return sample_side_by_side([&](int calls) { return theirs.run(calls); },
                             [&](int calls) { return ours.run(calls); }, policy);
}

// Charges the time that other programs took over all starts, in place of that of the first start.
void charge(record::Comparison& comparison, std::span<const Doubt> taken) {
  if (!comparison.busy) return;
  const Doubt all = comparison.doubt.value_or(Doubt{}), first = comparison.taken.value_or(Doubt{});
  const Doubt clock{(1 + all.low) / (1 + first.low) - 1, (1 + all.high) / (1 + first.high) - 1};
  comparison.taken = mean_doubt(taken);
  comparison.doubt = both({std::max(0.0, clock.low), std::max(0.0, clock.high)}, *comparison.taken);
}

}  // namespace

bool may_be_where_they_lie(const record::Comparison& comparison, const protocol::Loaded& candidate,
                           const protocol::Loaded& opponent) {
  if (comparison.against != Against::baseline || !comparison.ratio) return false;
  if (comparison.verdict == SpeedVerdict::same) return false;
  const Interval& interval = comparison.ratio->interval;
  if (interval.contains(1)) return false;  // more starts can't change the verdict
  const auto within = [centre = comparison.ratio->centre](double most) {
    return centre < most && centre * most > 1;
  };
  // On a CPU a difference below one per cent, with a narrow interval next to 1, is often placement as well.
  if (on_gpu(candidate) && on_gpu(opponent)) {
    const bool by_host = comparison.clock && takes_the_hosts_time(*comparison.clock);
    return within(by_host ? kMostByLuck : kMostByLuckOnGpu);
  }
  if (comparison.verdict == SpeedVerdict::ambiguous) return false;
  return quick_to_start(candidate) && quick_to_start(opponent) && comparison.candidate_ns < kShortNs &&
         comparison.baseline_ns < kShortNs && within(kMostByLuck);
}

std::optional<GateResult> judge_over_starts(GateContext& at, record::Comparison& comparison, Random& random) {
  const Problem& problem = *at.problem;
  std::vector<double> logs{std::log(comparison.ratio->centre)};
  std::vector<Doubt> taken{comparison.taken.value_or(Doubt{})};
  const auto is_look = [&] { return std::ranges::count(kLooksAtStarts, static_cast<int>(logs.size())) > 0; };
  while (static_cast<int>(logs.size()) < kLooksAtStarts.back()) {
    at.progress(1, fmt::format("start {} of {} at most", logs.size() + 1, kLooksAtStarts.back()));
    at.sides.restart();
    Worker& candidate = at.sides.candidate();
    Worker& opponent = at.sides.opponent();
    DeviceTurns::Turn alone = at.workers().turns().take_gpu();
    at.workers().inputs().renew(problem, random.next());
    opponent.pause();
    TimedSide ours(candidate, problem, at.workers(), random.next());
    candidate.pause();
    TimedSide theirs(opponent, problem, at.workers(), random.next());
    ours.against(opponent);
    theirs.against(candidate);
    if (comparison.clock) {  // the choice of GPU clock is known, but each process has its own floor
      for (TimedSide* side : {&ours, &theirs}) {
        side->try_clocks();
        side->time_in_graph(comparison.clock->by == TimedBy::graph);
      }
    }
    const Sampling sampling =
        sample_one_start(ours, theirs, policy_of(comparison, problem.has_sets(), random.next()));
    logs.push_back(median(log_ratios(sampling.pairs)));
    if (comparison.busy) taken.push_back(taken_of(comparison, sampling));
    for (int i = 0; i < kFewestChecked; ++i) ours.keep_one();
    opponent.check_code();
    if (auto found = left_behind(candidate, at.step, problem)) return found;
    candidate.pause();
    alone = {};
    if (auto found = check_timed_outputs(at, ours, kSecondsPerStart)) return found;
    if (!is_look()) continue;
    charge(comparison, taken);
    conclude_over_starts(comparison, logs);
    if (comparison.verdict != SpeedVerdict::ambiguous) break;
  }
  return std::nullopt;
}

Doubt taken_of(const record::Comparison& comparison, const Sampling& sampling) {
  std::vector<Pair> kept;
  for (std::size_t i = 0; i < sampling.pairs.size(); ++i)
    if (std::ranges::count(sampling.comparison.aside, i) == 0) kept.push_back(sampling.pairs[i]);
  return doubt_of(kept, comparison.alpha, *comparison.disturbance);
}

void conclude_over_starts(record::Comparison& comparison, std::span<const double> log_ratios) {
  comparison.starts = static_cast<int>(log_ratios.size());
  const double alpha = comparison.alpha / static_cast<double>(kLooksAtStarts.size());
  comparison.ratio = widened(over_starts(log_ratios, alpha), comparison.doubt.value_or(Doubt{}));
  const SpeedVerdict verdict = judge(comparison.ratio, comparison.same_within);
  if (verdict == comparison.verdict && verdict != SpeedVerdict::ambiguous) return;
  comparison.verdict = verdict;
  const auto [low, high] = std::ranges::minmax(log_ratios);
  comparison.reason =
      fmt::format("starts of the same two programs gave {:.3f}x to {:.3f}x", std::exp(low), std::exp(high));
}

}  // namespace dent
