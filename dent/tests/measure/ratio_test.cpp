// SPDX-License-Identifier: MIT
#include "measure/ratio.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error.h"
#include "measure/simulated.h"

namespace dent::ratio_test {
namespace {

using test::simulated_pairs;

TEST(PairedRatio, FindsTheTrueSpeedup) {
  for (double speedup : {0.5, 0.97, 1.0, 3.0}) {
    const auto ratio = paired_ratio(simulated_pairs(1000, speedup, {}, 5), 0.01);
    ASSERT_TRUE(ratio);
    EXPECT_TRUE(ratio->interval.contains(speedup)) << speedup;
    EXPECT_NEAR(ratio->centre / speedup, 1, 0.005);
  }
}

TEST(PairedRatio, IsBlindToWhatSlowsBothSidesDown) {
  auto pairs = simulated_pairs(200, 1.05, {}, 6);
  const auto before = paired_ratio(pairs, 0.05);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double drift = 1 + 0.01 * static_cast<double>(i);  // grows to three times the time
    pairs[i].baseline.ns *= drift;
    pairs[i].candidate.ns *= drift;
  }
  const auto after = paired_ratio(pairs, 0.05);
  EXPECT_NEAR(after->interval.low, before->interval.low, 1e-12);
  EXPECT_NEAR(after->interval.high, before->interval.high, 1e-12);
}

TEST(GeometricMean, OfOneRatioIsThatRatio) {
  const Ratio only{1.2, {1.1, 1.5}};
  const Ratio mean = geometric_mean(std::vector{only});
  EXPECT_DOUBLE_EQ(mean.centre, 1.2);
  EXPECT_DOUBLE_EQ(mean.interval.low, 1.1);
  EXPECT_DOUBLE_EQ(mean.interval.high, 1.5);
}

TEST(GeometricMean, IsTheSameSeenFromTheOtherSide) {
  const std::vector<Ratio> ratios{{2, {1.9, 2.2}}, {0.4, {0.3, 0.41}}};
  std::vector<Ratio> inverse;
  for (const Ratio& r : ratios) inverse.push_back({1 / r.centre, {1 / r.interval.high, 1 / r.interval.low}});
  const Ratio mean = geometric_mean(ratios), other = geometric_mean(inverse);
  EXPECT_DOUBLE_EQ(mean.centre, std::sqrt(0.8));
  EXPECT_DOUBLE_EQ(mean.centre, 1 / other.centre);
  EXPECT_DOUBLE_EQ(mean.interval.low, 1 / other.interval.high);
  EXPECT_DOUBLE_EQ(mean.interval.high, 1 / other.interval.low);
}

TEST(GeometricMean, RefusesNothingAndNonsense) {
  EXPECT_THROW(geometric_mean({}), Error);
  EXPECT_THROW(geometric_mean(std::vector{Ratio{1, {0, 2}}}), Error);
  EXPECT_THROW(geometric_mean(std::vector{Ratio{3, {1, 2}}}), Error);
  EXPECT_THROW(geometric_mean(std::vector{Ratio{std::nan(""), {1, 2}}}), Error);
}

TEST(GeometricMean, KeepsItsPromise) {
  const double speedups[] = {0.8, 1.0, 1.1, 1.9};
  const double truth = std::pow(0.8 * 1.0 * 1.1 * 1.9, 0.25);
  int held = 0;
  constexpr int kTrials = 1000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<Ratio> ratios;
    for (int shape = 0; shape < 4; ++shape) {
      const auto pairs = simulated_pairs(60, speedups[shape], {.correlation = 0.3},
                                         static_cast<std::uint64_t>(10 * trial + shape));
      ratios.push_back(*paired_ratio(pairs, 0.05));
    }
    held += geometric_mean(ratios).interval.contains(truth);
  }
  EXPECT_GE(held, 0.95 * kTrials);
}

// A wrong clock or a busy machine affects every shape.
TEST(GeometricMean, IsNoNarrowerThanItsEvidence) {
  const Ratio shape{1.22, {0.98, 1.23}};
  for (const std::size_t shapes : {1, 2, 7, 100}) {
    const Ratio mean = geometric_mean(std::vector(shapes, shape));
    EXPECT_NEAR(mean.centre, 1.22, 1e-12);
    EXPECT_NEAR(mean.interval.low, 0.98, 1e-12);
    EXPECT_NEAR(mean.interval.high, 1.23, 1e-12);
  }
}

TEST(GeometricMean, CountsEachByItsWeight) {
  const std::vector<Ratio> ratios{{2, {1.9, 2.2}}, {0.4, {0.3, 0.41}}, {5, {1, 25}}};
  const std::vector<double> weights{3, 1, 0};
  const Ratio mean = geometric_mean(ratios, weights);
  EXPECT_NEAR(mean.centre, std::pow(2, 0.75) * std::pow(0.4, 0.25), 1e-12);
  EXPECT_NEAR(mean.interval.low, std::pow(1.9, 0.75) * std::pow(0.3, 0.25), 1e-12);
  EXPECT_NEAR(mean.interval.high, std::pow(2.2, 0.75) * std::pow(0.41, 0.25), 1e-12);
  const Ratio equal = geometric_mean(ratios, std::vector<double>{7, 7, 7});
  EXPECT_NEAR(equal.centre, geometric_mean(ratios).centre, 1e-12);
}

TEST(GeometricMean, OfWeightsIsNoNarrowerThanItsEvidenceEither) {
  const Ratio shape{1.22, {0.98, 1.23}};
  const Ratio mean = geometric_mean(std::vector(3, shape), std::vector{0.5, 100.0, 3.0});
  EXPECT_NEAR(mean.interval.low, 0.98, 1e-12);
  EXPECT_NEAR(mean.interval.high, 1.23, 1e-12);
  const Doubt clock{0.25, 0};
  EXPECT_NEAR(mean_doubt(std::vector(3, clock), std::vector{0.5, 100.0, 3.0}).low, 0.25, 1e-12);
}

TEST(GeometricMean, RefusesWeightsThatAreNone) {
  const std::vector<Ratio> ratios{{2, {1.9, 2.2}}, {0.4, {0.3, 0.41}}};
  for (const std::vector<double>& weights :
       {std::vector{1.0}, {0.0, 0.0}, {-1.0, 2.0}, {std::nan(""), 1.0}, {1.0, INFINITY}}) {
    EXPECT_THROW(geometric_mean(ratios, weights), Error);
  }
}

TEST(Doubt, AddsUp) {
  const Doubt clock{0.25, 0}, busy{0.5, 0.5};
  EXPECT_EQ(both(clock, busy), (Doubt{0.875, 0.5}));
  const Ratio ratio = widened({2, {1.9, 2.1}}, clock);
  EXPECT_DOUBLE_EQ(ratio.interval.low, 1.52);
  EXPECT_DOUBLE_EQ(ratio.interval.high, 2.1);
  EXPECT_NEAR(mean_doubt(std::vector{clock, clock, clock}).low, 0.25, 1e-12);
  EXPECT_EQ(mean_doubt({}), Doubt{});
}

TEST(Change, ComparesTwoSessionsThroughTheirOwnBaselines) {
  const Ratio before{1.0, {0.98, 1.02}}, after{1.5, {1.45, 1.56}};
  const Ratio gain = change(before, after), loss = change(after, before);
  EXPECT_DOUBLE_EQ(gain.centre, 1.5);
  EXPECT_GT(gain.interval.low, 1.4);
  EXPECT_LT(gain.interval.low, 1.45);
  EXPECT_DOUBLE_EQ(gain.interval.low, 1 / loss.interval.high);
}

}  // namespace
}  // namespace dent::ratio_test
