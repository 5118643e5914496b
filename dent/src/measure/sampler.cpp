// SPDX-License-Identifier: MIT
#include "measure/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <utility>

#include "base/error.h"
#include "measure/measuring_clock.h"

namespace dent {
namespace {

class Sampler {
 public:
  Sampler(const TimedRun& baseline, const TimedRun& candidate, const SamplingPolicy& policy)
      : baseline_(baseline), candidate_(candidate), policy_(policy), lot_(policy.seed) {
    now_s_ = policy.now_s ? policy.now_s : measuring_clock_s;
    started_s_ = now_s_();
  }

  Sampling run() {
    const auto look_at = looks(policy_.stop);  // first: an invalid rule fails before anything is measured
    done_.baseline_calls = calls_for_a_sample(Side::baseline);
    done_.candidate_calls = calls_for_a_sample(Side::candidate);
    warm_up();
    take_pairs(look_at);
    done_.elapsed_s = elapsed_s();
    return std::move(done_);
  }

 private:
  double elapsed_s() const { return now_s_() - started_s_; }
  bool time_is_up() const { return elapsed_s() >= policy_.time_box_s; }
  // With too few pairs there is no interval and the time was wasted, so slow kernels get twice the time box.
  bool pairs_are_late() const {
    const bool few = static_cast<int>(done_.pairs.size()) < policy_.stop.min_pairs;
    return elapsed_s() >= (few ? 2 : 1) * policy_.time_box_s;
  }

  Sample sample(Side side, int calls) {
    const Timing timing = (side == Side::baseline ? baseline_ : candidate_)(calls);
    Sample taken{timing.ns / calls, calls, timing.clock_mhz};
    if (timing.waited_ns) taken.waited_ns = *timing.waited_ns / calls;
    if (const auto wrong = what_is_wrong(taken)) {
      throw Error(ErrorCode::invalid, fmt::format("a sample of the {}: {}", name(side), *wrong),
                  "check the clock of the code that timed this sample");
    }
    return taken;
  }

  // The order of the two sides is random, so that a periodic disturbance favours neither.
  Pair pair() {
    Pair taken;
    taken.candidate_first = (lot_() >> 63) != 0;
    if (taken.candidate_first) taken.candidate = sample(Side::candidate, done_.candidate_calls);
    taken.baseline = sample(Side::baseline, done_.baseline_calls);
    if (!taken.candidate_first) taken.candidate = sample(Side::candidate, done_.candidate_calls);
    return taken;
  }

  int calls_for_a_sample(Side side) {
    int calls = 1;
    double ns = sample(side, calls).ns;  // the very first call may load, compile or page in; it is not timed
    while (calls < policy_.max_calls && !time_is_up()) {
      ns = sample(side, calls).ns;
      if (ns * calls >= policy_.min_sample_ns) break;
      const double wanted = std::ceil(policy_.min_sample_ns / ns);
      calls = static_cast<int>(std::clamp(wanted, calls + 1.0, static_cast<double>(policy_.max_calls)));
    }
    const double spread = std::min<double>(policy_.spread_calls, policy_.spread_ns / ns);
    return std::clamp(static_cast<int>(spread), calls, std::max(calls, policy_.max_calls));
  }

  bool is_steady(const std::vector<Pair>& pairs) const {
    const auto window = static_cast<std::size_t>(policy_.warm_up_window);
    if (pairs.size() < 2 * window) return false;
    const auto last = std::span(pairs).last(window);
    const auto before = std::span(pairs).last(2 * window).first(window);
    return std::ranges::all_of(std::array{Side::baseline, Side::candidate}, [&](Side side) {
      return std::abs(std::log(median_ns(last, side) / median_ns(before, side))) <= policy_.steady_within;
    });
  }

  void warm_up() {
    const double from_s = elapsed_s();
    const double until_s = from_s + policy_.warm_up_share * policy_.time_box_s;
    std::vector<Pair> pairs;
    while (!done_.steady && elapsed_s() < until_s && !time_is_up()) {
      report("warm-up", 0, nullptr);
      pairs.push_back(pair());
      done_.steady = elapsed_s() - from_s >= policy_.warm_up_at_least_s && is_steady(pairs);
    }
    done_.warm_up_pairs = static_cast<int>(pairs.size());
  }

  void take_pairs(const std::vector<int>& look_at) {
    const ComparisonRule rule = at_one_look(policy_.compare, policy_.stop);
    bool looked = false;
    for (const int look : look_at) {
      while (static_cast<int>(done_.pairs.size()) < look) {
        if (pairs_are_late()) {
          done_.stop = StopReason::time_box;
          done_.comparison = compare(done_.pairs, rule);
          return;
        }
        report("sampling", static_cast<int>(done_.pairs.size()), looked ? &done_.comparison : nullptr);
        done_.pairs.push_back(pair());
      }
      done_.comparison = compare(done_.pairs, rule);
      looked = true;
      if (decided(done_.comparison, policy_.stop, policy_.compare.same_within) &&
          (!policy_.quiet || policy_.quiet())) {
        done_.stop = StopReason::decided;
        return;
      }
    }
    done_.stop = StopReason::sample_cap;
  }

  void report(const char* stage, int pairs, const Comparison* at_look) const {
    if (!policy_.progress) return;
    policy_.progress({pairs, policy_.stop.max_pairs, elapsed_s(), policy_.time_box_s, stage, at_look});
  }

  const TimedRun& baseline_;
  const TimedRun& candidate_;
  const SamplingPolicy& policy_;
  std::mt19937_64 lot_;
  std::function<double()> now_s_;
  double started_s_ = 0;
  Sampling done_;
};

}  // namespace

Sampling sample_side_by_side(const TimedRun& baseline, const TimedRun& candidate,
                             const SamplingPolicy& policy) {
  return Sampler(baseline, candidate, policy).run();
}

}  // namespace dent
