// SPDX-License-Identifier: MIT
// The rule for keeping a change, on simulated measurements with known truth.
#include "evaluation/keep_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "measure/sampler.h"

namespace dent::keep_rule_test {
namespace {

// A machine with skewed, correlated noise: interruptions only add time, and busy periods last a while.
class Machine {
 public:
  explicit Machine(unsigned seed) : random_(seed) {}

  TimedRun kernel(double ns) {
    return [this, ns](int calls) {
      const double fresh = noise_(random_);
      spell_ = 0.7 * spell_ + 0.3 * fresh;
      const double hit = unit_(random_) < 0.05 ? 0.5 * unit_(random_) : 0;
      const double time = ns * (1 + 0.02 * std::abs(spell_) + 0.02 * std::abs(noise_(random_)) + hit) * calls;
      now_s_ += time * 1e-9;
      return Timing{.ns = time, .clock_mhz = {}};
    };
  }
  double now_s() const { return now_s_; }

 private:
  std::mt19937 random_;
  std::normal_distribution<double> noise_;
  std::uniform_real_distribution<double> unit_;
  double spell_ = 0;
  double now_s_ = 0;
};

// `share`: part of the time box. Memory placement makes two equal programs differ for their whole lives.
ShapeGain measure(Machine& machine, double truth, unsigned seed, double share) {
  std::mt19937 random(seed);
  const double luck = std::exp(std::normal_distribution<double>(0, 0.02)(random));
  SamplingPolicy policy;
  policy.time_box_s = 0.5 * share;
  policy.stop.precision = 0.02;
  policy.stop.max_pairs = 128;
  policy.seed = seed;
  policy.now_s = [&] { return machine.now_s(); };
  const Sampling sampling =
      sample_side_by_side(machine.kernel(1e6), machine.kernel(1e6 / truth / luck), policy);
  return {"shape", sampling.comparison.ratio.value_or(Ratio{1, {0.1, 9}}), 1e6, 1e6};
}

// Tries one candidate like evaluate(): a screening, and a confirmation of those that pass.
bool kept(Machine& machine, double truth, double confirmation, unsigned seed) {
  const KeepRule rule;
  const ShapeGain first = measure(machine, truth, seed, 1);
  if (!judge_gains(std::span(&first, 1), rule).faster) return false;
  std::vector<double> logs;
  for (unsigned start = 1; start <= kLastLook; ++start) {
    const ShapeGain again = measure(machine, truth, seed + start, 0.4);
    logs.push_back(std::log(again.ratio.centre));
    if (start != kFirstLook && start != kLastLook) continue;
    const Ratio mean = over_starts(logs, confirmation / 2);
    const ShapeGain all{"shape", mean, 1e6, 1e6};
    if (judge_gains(std::span(&all, 1), rule, mean).faster) return true;
  }
  return false;
}

TEST(KeepRule, AHundredLoopsWithoutAnImprovementKeepAtMostTwo) {
  constexpr int kCandidates = 20;
  const double alpha = confirmation_alpha(0.01, kCandidates);
  int loops_that_kept = 0;
  for (unsigned loop = 0; loop < 100; ++loop) {
    Machine machine(loop);
    bool any = false;
    for (unsigned candidate = 0; candidate < kCandidates; ++candidate) {
      any = kept(machine, 1.0, alpha, 1000 * loop + 10 * candidate) || any;
    }
    loops_that_kept += any ? 1 : 0;
  }
  EXPECT_LE(loops_that_kept, 2);
}

TEST(KeepRule, ARealImprovementIsKept) {
  const double alpha = confirmation_alpha(0.01, 20);
  int found = 0;
  for (unsigned loop = 0; loop < 20; ++loop) {
    Machine machine(loop);
    found += kept(machine, 1.15, alpha, 100 * loop) ? 1 : 0;
  }
  EXPECT_GE(found, 19);
}

TEST(KeepRule, StudentsIntervalOverStarts) {
  const std::vector<double> three{0.1, 0.2, 0.3};  // mean 0.2, deviation 0.1
  const Ratio at_95 = over_starts(three, 0.05);
  EXPECT_NEAR(std::log(at_95.centre), 0.2, 1e-12);
  EXPECT_NEAR(std::log(at_95.interval.high) - 0.2, 4.302653 * 0.1 / std::sqrt(3.0),
              1e-6);  // t, 2 degrees of freedom
  const std::vector<double> seven{-3, -2, -1, 0, 1, 2, 3};
  const double error = std::sqrt(28.0 / 6 / 7);
  EXPECT_NEAR(std::log(over_starts(seven, 0.001).interval.high), 5.958816 * error, 1e-5);  // with 6 degrees
  EXPECT_THROW(over_starts(std::vector<double>{1, 2}, 0.05), Error);
}

TEST(KeepRule, TheLevelIsDividedByTheNumberOfCandidates) {
  EXPECT_DOUBLE_EQ(confirmation_alpha(0.01, 20), 0.001);
  EXPECT_DOUBLE_EQ(confirmation_alpha(0.01, 1), 0.02);
  EXPECT_DOUBLE_EQ(confirmation_alpha(0.01, 0), 0.02);
}

ShapeGain gain(const char* shape, double centre, double low, double high) {
  return {shape, {centre, {low, high}}, 100, 100 / centre};
}

TEST(KeepRule, OneShapeThatLosesRefusesTheBestMean) {
  const std::vector<ShapeGain> shapes{gain("tiny", 0.97, 0.95, 0.99), gain("large", 3, 2.9, 3.1)};
  const Judgement judgement = judge_gains(shapes, {});
  EXPECT_FALSE(judgement.faster);
  EXPECT_NE(judgement.reason.find("tiny loses"), std::string::npos) << judgement.reason;
  EXPECT_TRUE(loses_too_much(shapes[0], {}));
  EXPECT_TRUE(judge_gains(shapes, {.shape_loss = 0.05}).faster);
}

TEST(KeepRule, AnIntervalThatHoldsOneIsNoGain) {
  EXPECT_FALSE(judge_gains(std::vector{gain("a", 1.2, 0.99, 1.4)}, {}).faster);
  EXPECT_FALSE(judge_gains(std::vector{gain("a", 1.005, 1.001, 1.009)}, {}).faster);  // less than min_gain
  EXPECT_TRUE(judge_gains(std::vector{gain("a", 1.02, 1.001, 1.04)}, {}).faster);
  EXPECT_FALSE(judge_gains({}, {}).faster);
}

TEST(KeepRule, NotANumberIsNoGain) {
  const double nan = std::nan("");
  EXPECT_THROW(judge_gains(std::vector{gain("a", nan, nan, nan)}, {}), Error);
  EXPECT_THROW(judge_gains(std::vector{gain("a", 2, nan, 3)}, {}), Error);
}

}  // namespace
}  // namespace dent::keep_rule_test
