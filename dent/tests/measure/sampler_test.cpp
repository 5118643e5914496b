// SPDX-License-Identifier: MIT
#include "measure/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "measure/simulated.h"

namespace dent::sampler_test {
namespace {

using test::Noise;
using test::NoiseShape;

// Two simulated kernels; the clock advances only while they run.
struct Bench {
  Bench(double speedup, NoiseShape shape, std::uint64_t seed, double baseline_ns = 50'000)
      : noise(shape, seed), candidate_ns(baseline_ns / speedup) {
    baseline = [this, baseline_ns](int calls) { return run('b', calls, baseline_ns); };
    candidate = [this](int calls) { return run('c', calls, candidate_ns); };
    policy.seed = seed;
    policy.now_s = [this] { return clock_s; };
  }
  Timing run(char side, int calls, double ns) {
    const double coldness = cold_runs > 0 ? 1 + 2 * std::exp(-runs / cold_runs) : 1.0;
    const double lasted = ns * calls * noise.next() * coldness;
    ++runs;
    clock_s += lasted / 1e9;
    order += side;
    return {lasted, {}};
  }
  Sampling go() { return sample_side_by_side(baseline, candidate, policy); }

  Noise noise;
  double candidate_ns;
  double clock_s = 0;
  int runs = 0;
  double cold_runs = 0;  // number of runs in which the cold-start effect falls to a third
  std::string order;
  TimedRun baseline, candidate;
  SamplingPolicy policy;
};

int count(const std::vector<SpeedVerdict>& verdicts, SpeedVerdict wanted) {
  return static_cast<int>(std::count(verdicts.begin(), verdicts.end(), wanted));
}

std::vector<SpeedVerdict> many(int comparisons, double speedup, NoiseShape shape) {
  std::vector<SpeedVerdict> verdicts;
  for (int i = 0; i < comparisons; ++i) {
    verdicts.push_back(Bench(speedup, shape, 7000 + static_cast<std::uint64_t>(i)).go().comparison.verdict);
  }
  return verdicts;
}

TEST(Sampler, TheSameKernelTwiceIsNeverFasterOrSlowerMoreOftenThanPromised) {
  for (const NoiseShape& shape : {NoiseShape{}, NoiseShape{.sigma = 0.05, .correlation = 0.5},
                                  NoiseShape{.sigma = 0.01, .spikes = 0.3, .spike_size = 1}}) {
    const auto verdicts = many(200, 1.0, shape);
    EXPECT_LE(count(verdicts, SpeedVerdict::faster) + count(verdicts, SpeedVerdict::slower), 10);
  }
}

TEST(Sampler, ThreePercentSlowerIsFound) {
  const auto verdicts = many(100, 1 / 1.03, {});
  EXPECT_GE(count(verdicts, SpeedVerdict::slower), 95);
  EXPECT_EQ(count(verdicts, SpeedVerdict::faster), 0);
}

TEST(Sampler, ThreePercentFasterIsFound) { EXPECT_GE(count(many(100, 1.03, {}), SpeedVerdict::faster), 95); }

TEST(Sampler, StopsEarlyWhenTheCaseIsClear) {
  Bench clear(1.5, {.sigma = 0.002, .spikes = 0}, 1);
  const Sampling sampling = clear.go();
  EXPECT_EQ(sampling.stop, StopReason::decided);
  EXPECT_EQ(sampling.comparison.verdict, SpeedVerdict::faster);
  EXPECT_EQ(sampling.pairs.size(), 32u);
}

TEST(Sampler, DecidesNothingEarlyWhileTheMachineIsNotQuiet) {
  Bench clear(1.5, {.sigma = 0.002, .spikes = 0}, 1);
  clear.policy.time_box_s = 0.5;
  int asked = 0;
  clear.policy.quiet = [&asked] { return ++asked > 2; };
  EXPECT_EQ(clear.go().pairs.size(), 128u);  // decided at the third look
  clear.policy.quiet = [] { return false; };
  const Sampling busy = clear.go();
  EXPECT_EQ(busy.stop, StopReason::time_box);
  EXPECT_EQ(busy.comparison.verdict, SpeedVerdict::faster);
}

TEST(Sampler, KeepsToTheTimeBoxAndSaysSo) {
  Bench noisy(1.0, {.sigma = 0.5}, 2);
  noisy.policy.time_box_s = 0.2;
  const Sampling sampling = noisy.go();
  EXPECT_EQ(sampling.stop, StopReason::time_box);
  EXPECT_LT(sampling.elapsed_s, 0.21);
  EXPECT_FALSE(sampling.pairs.empty());
}

TEST(Sampler, FewPairsGetAsMuchTimeAgain) {
  Bench slow(1.5, {.sigma = 0.002, .spikes = 0}, 2, 20e6);
  slow.policy.time_box_s = 1;
  const Sampling sampling = slow.go();  // a pair takes 33 ms; warm-up used a fifth of the time
  EXPECT_EQ(sampling.pairs.size(), 32u);
  EXPECT_EQ(sampling.comparison.verdict, SpeedVerdict::faster);
  EXPECT_GT(sampling.elapsed_s, 1);

  Bench slower(1.5, {.sigma = 0.002, .spikes = 0}, 2, 200e6);
  slower.policy.time_box_s = 1;
  const Sampling cut = slower.go();
  EXPECT_EQ(cut.stop, StopReason::time_box);
  EXPECT_GT(cut.elapsed_s, 2);
  EXPECT_LT(cut.elapsed_s, 2.4);
}

TEST(Sampler, KeepsToTheCap) {
  Bench noisy(1.0, {.sigma = 0.5}, 3);
  noisy.policy.stop.max_pairs = 100;
  noisy.policy.time_box_s = 1000;
  const Sampling sampling = noisy.go();
  EXPECT_EQ(sampling.stop, StopReason::sample_cap);
  EXPECT_EQ(sampling.pairs.size(), 100u);
}

TEST(Sampler, ATimeBoxTooShortForAnythingIsAmbiguous) {
  Bench slow(1.0, {}, 4, 5e9);
  slow.policy.time_box_s = 1;
  const Sampling sampling = slow.go();
  EXPECT_EQ(sampling.comparison.verdict, SpeedVerdict::ambiguous);
  EXPECT_FALSE(sampling.comparison.reason.empty());
}

TEST(Sampler, BatchesShortCallsUntilTheClockCanSeeThem) {
  Bench quick(1.0, {}, 5, 100);
  const Sampling sampling = quick.go();
  for (const Pair& pair : sampling.pairs) {
    EXPECT_GE(pair.baseline.ns * pair.baseline.calls, 0.8 * quick.policy.min_sample_ns);
  }
  EXPECT_NEAR(median_ns(sampling.pairs, Side::baseline), 100, 5);
  Bench lengthy(1.0, {}, 5, 1e6);
  EXPECT_EQ(lengthy.go().baseline_calls, 1);
}

// With one memory location per side, a convolution of 1.5 ms against itself was 1 % faster on one side in 297
// pairs, for the whole life of the processes.
TEST(Sampler, AStretchGoesOverSeveralPlacesInMemory) {
  const auto calls_of = [](double ns, int max_calls) {
    Bench bench(1.0, {}, 5, ns);
    bench.policy.spread_calls = 8;
    bench.policy.max_calls = max_calls;
    return bench.go().baseline_calls;
  };
  EXPECT_EQ(calls_of(400e3, 100), 8);
  EXPECT_NEAR(calls_of(1.5e6, 100), 5, 1);  // limited to 8 ms
  EXPECT_EQ(calls_of(1.5e6, 2), 2);         // limited by memory
  EXPECT_EQ(calls_of(1e9, 100), 1);
  EXPECT_GE(calls_of(1e3, 1000), 150);  // the clock needs more
}

TEST(Sampler, TheOrderIsDrawnByLotAndTheSeedDecidesIt) {
  Bench first(1.0, {}, 6), again(1.0, {}, 6), other(1.0, {}, 6);
  other.policy.seed = 60;
  const Sampling sampling = first.go();
  again.go();
  other.go();
  EXPECT_EQ(first.order, again.order);
  EXPECT_NE(first.order, other.order);
  const auto candidate_first = std::count_if(sampling.pairs.begin(), sampling.pairs.end(),
                                             [](const Pair& pair) { return pair.candidate_first; });
  const double share = static_cast<double>(candidate_first) / static_cast<double>(sampling.pairs.size());
  EXPECT_GT(share, 0.3);
  EXPECT_LT(share, 0.7);
}

TEST(Sampler, WarmsUpUntilBothSidesAreSteady) {
  Bench cold(1.0, {.sigma = 0.002, .spikes = 0}, 8);
  cold.cold_runs = 15;
  const Sampling sampling = cold.go();
  EXPECT_TRUE(sampling.steady);
  EXPECT_GT(sampling.warm_up_pairs, 15);
  EXPECT_NEAR(median_ns(sampling.pairs, Side::baseline), 50'000, 1000);
}

TEST(Sampler, WarmsUpForAWhileEvenWhenItLooksSteadyAtOnce) {
  Bench bench(1.0, {.sigma = 0.002, .spikes = 0}, 8);
  bench.policy.warm_up_at_least_s = 0.5;
  double sampling_began_s = 0;
  bench.policy.progress = [&](const SamplingProgress& progress) {
    if (progress.pairs == 0) sampling_began_s = progress.elapsed_s;
  };
  bench.go();
  EXPECT_GE(sampling_began_s, 0.5);
}

TEST(Sampler, ATimeThatIsNoneIsAnErrorThatNamesTheSide) {
  for (double bad : {0.0, -1.0, std::nan("")}) {
    Bench bench(1.0, {}, 9);
    bench.candidate = [bad](int) { return Timing{bad, {}}; };
    try {
      bench.go();
      FAIL() << bad << " passed as a time";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("candidate"), std::string::npos);
    }
  }
}

TEST(Sampler, ShowsLifeBeforeEachPairAndStopsWhenTheListenerThrows) {
  Bench bench(1.0, {}, 10);
  int calls = 0;
  bench.policy.progress = [&calls](const SamplingProgress& progress) {
    EXPECT_LE(progress.pairs, progress.max_pairs);
    if (++calls == 12) throw std::runtime_error("enough");
  };
  EXPECT_THROW(bench.go(), std::runtime_error);
  EXPECT_EQ(calls, 12);
}

}  // namespace
}  // namespace dent::sampler_test
