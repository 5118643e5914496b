// SPDX-License-Identifier: MIT
#include "measure/blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "base/error.h"
#include "measure/comparison.h"
#include "measure/simulated.h"
#include "measure/stop_rule.h"

namespace dent::blocks_test {
namespace {

// From tables of Student's distribution: t(2, 0.05) = 4.303, t(6, 0.05) = 2.447.
TEST(MeanEstimate, IsStudents) {
  const Estimate three = mean_estimate(std::vector{1.0, 2.0, 3.0}, 0.05);
  EXPECT_DOUBLE_EQ(three.centre, 2);
  EXPECT_NEAR(three.interval.high - 2, 4.303 / std::sqrt(3), 1e-3);
  EXPECT_NEAR(2 - three.interval.low, 4.303 / std::sqrt(3), 1e-3);
  const Estimate seven = mean_estimate(std::vector{-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0}, 0.05);
  EXPECT_NEAR(seven.interval.high, 2.447 * std::sqrt(28.0 / 6 / 7), 1e-3);
  EXPECT_THROW(mean_estimate(std::vector{1.0}, 0.05), Error);
}

TEST(BlockInterval, NeedsAFewValuesInEachBlock) {
  EXPECT_FALSE(block_interval(std::vector(31, 1.0), 0.05));
  const auto point = block_interval(std::vector(32, 1.0), 0.05);
  ASSERT_TRUE(point);
  EXPECT_DOUBLE_EQ(point->low, 1);
  EXPECT_DOUBLE_EQ(point->high, 1);
}

TEST(BlockInterval, GrowsWithDriftThatEachBlockHides) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 0.001);
  std::vector<double> steady, drifting;
  for (int i = 0; i < 256; ++i) {
    steady.push_back(noise(random));
    drifting.push_back(steady.back() + 0.1 * i / 256);
  }
  const auto width = [](const std::vector<double>& values) {
    const auto interval = block_interval(values, 0.05);
    return interval->high - interval->low;
  };
  EXPECT_LT(width(steady), 0.001);
  EXPECT_GT(width(drifting), 0.04);
}

// A machine with phases: each side in turn is a tenth slower for a while; in the long run both are equally
// fast.
std::vector<Pair> in_phases(int count, double mean_length, unsigned seed) {
  auto pairs = test::simulated_pairs(count, 1, {.sigma = 0.01}, seed);
  std::mt19937 random(seed + 1);
  std::uniform_real_distribution<double> unit;
  int phase = random() % 2 == 0 ? 1 : -1;
  for (Pair& pair : pairs) {
    if (unit(random) < 1 / mean_length) phase = -phase;
    pair.candidate.ns *= std::exp(0.05 * phase);
  }
  return pairs;
}

// Phases of 40 pairs in series of 512 and 1024. (With the median's interval alone, one verdict in ten is
// wrong.)
TEST(PairedRatio, PhasesOfTheMachineAreNoVerdict) {
  int wrong = 0, runs = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    for (const int count : {512, 1024}) {
      const Comparison found = compare(in_phases(count, 40, 10 * seed), {.alpha = 0.05 / 7});
      wrong += found.verdict == SpeedVerdict::faster || found.verdict == SpeedVerdict::slower;
      ++runs;
    }
  }
  EXPECT_LE(wrong, 0.05 * runs);
}

}  // namespace
}  // namespace dent::blocks_test
