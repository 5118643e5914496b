// SPDX-License-Identifier: MIT
// The rule by which a change is kept, on measurements whose truth is known.
#include "loop/keep_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "error.h"
#include "measure/sampler.h"

namespace dent {
namespace {

// A machine with a skewed, correlated noise: interruptions only ever add, and a busy spell lasts a while.
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

ShapeGain measure(Machine& machine, double truth, double alpha, unsigned seed) {
  SamplingPolicy policy;
  policy.time_box_s = 0.5;
  policy.stop.precision = 0.02;
  policy.stop.max_pairs = 256;
  policy.compare.alpha = alpha;
  policy.seed = seed;
  policy.now_s = [&] { return machine.now_s(); };
  const Sampling sampling = sample_side_by_side(machine.kernel(1e6), machine.kernel(1e6 / truth), policy);
  return {"shape", sampling.comparison.ratio.value_or(Ratio{1, {0, 9}}), 1e6, 1e6};
}

// One candidate as evaluate() takes it: a screening, and a confirmation of those that pass.
bool kept(Machine& machine, double truth, double confirmation, unsigned seed, int* screened = nullptr) {
  const KeepRule rule;
  const ShapeGain first = measure(machine, truth, 0.05, seed);
  if (!judge_gains(std::span(&first, 1), rule).faster) return false;
  if (screened != nullptr) ++*screened;
  const ShapeGain second = measure(machine, truth, confirmation, seed + 1);
  return judge_gains(std::span(&second, 1), rule).faster;
}

TEST(KeepRule, AHundredLoopsWithoutAnImprovementKeepAtMostTwo) {
  constexpr int kCandidates = 20;
  const double alpha = confirmation_alpha(0.01, kCandidates);
  int loops_that_kept = 0;
  for (unsigned loop = 0; loop < 100; ++loop) {
    Machine machine(loop);
    bool any = false;
    for (unsigned candidate = 0; candidate < kCandidates; ++candidate) {
      any = kept(machine, 1.0, alpha, 1000 * loop + 2 * candidate) || any;
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
    found += kept(machine, 1.1, alpha, loop) ? 1 : 0;
  }
  EXPECT_GE(found, 19);
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
  EXPECT_FALSE(judge_gains(std::vector{gain("a", 1.005, 1.001, 1.009)}, {}).faster);  // less than is worth it
  EXPECT_TRUE(judge_gains(std::vector{gain("a", 1.02, 1.001, 1.04)}, {}).faster);
  EXPECT_FALSE(judge_gains({}, {}).faster);
}

TEST(KeepRule, NotANumberIsNoGain) {
  const double nan = std::nan("");
  EXPECT_THROW(judge_gains(std::vector{gain("a", nan, nan, nan)}, {}), Error);
  EXPECT_THROW(judge_gains(std::vector{gain("a", 2, nan, 3)}, {}), Error);
}

}  // namespace
}  // namespace dent
