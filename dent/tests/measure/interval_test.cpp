// SPDX-License-Identifier: MIT
#include "measure/interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "measure/simulated.h"

namespace dent::interval_test {
namespace {

using test::Noise;
using test::NoiseShape;

TEST(Median, IsTheMiddleOrBetweenTheTwoMiddleOnes) {
  EXPECT_DOUBLE_EQ(median(std::vector{3.0, 1.0, 2.0}), 2);
  EXPECT_DOUBLE_EQ(median(std::vector{4.0, 1.0, 2.0, 3.0}), 2.5);
  EXPECT_THROW(median({}), Error);
  EXPECT_THROW(median(std::vector{1.0, std::nan("")}), Error);
}

// From tables of the sign test: n, and the rank at alpha = 0.05 (0: no interval).
TEST(MedianInterval, UsesTheRanksOfTheSignTest) {
  const std::pair<int, int> table[] = {{5, 0}, {6, 1}, {8, 1}, {9, 2}, {20, 6}, {25, 8}, {50, 18}};
  for (const auto& [n, rank] : table) {
    std::vector<double> values;  // 1 .. n in an order without correlation
    for (int i = 1; i <= n / 2; ++i) values.insert(values.end(), {double(i), double(n + 1 - i)});
    if (n % 2 == 1) values.push_back((n + 1) / 2);
    ASSERT_EQ(correlation_time(values), 1) << n;
    const auto estimate = median_estimate(values, 0.05);
    ASSERT_EQ(estimate.has_value(), rank > 0) << n;
    if (!estimate) continue;
    EXPECT_EQ(estimate->interval.low, rank) << n;
    EXPECT_EQ(estimate->interval.high, n + 1 - rank) << n;
    EXPECT_DOUBLE_EQ(estimate->centre, (n + 1) / 2.0) << n;
  }
}

TEST(MedianInterval, IsAPointForEqualValuesAndNothingForNone) {
  const auto estimate = median_estimate(std::vector(30, 7.0), 0.05);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->interval.low, 7);
  EXPECT_EQ(estimate->interval.high, 7);
  EXPECT_FALSE(median_estimate({}, 0.05));
}

TEST(CorrelationTime, IsOneForIndependentValuesAndGrowsWithTheirMemory) {
  const auto mean_tau = [](double correlation) {
    double sum = 0;
    for (int seed = 0; seed < 50; ++seed) {
      Noise noise({.correlation = correlation, .spikes = 0}, static_cast<std::uint64_t>(seed));
      std::vector<double> values(2000);
      for (double& value : values) value = noise.next();
      sum += correlation_time(values);
    }
    return sum / 50;
  };
  EXPECT_LT(mean_tau(0), 1.2);
  EXPECT_NEAR(mean_tau(0.5), 2.2, 0.3);  // 1 + 2 * sum over k of 2 / pi * asin(0.5^k)
  EXPECT_GT(mean_tau(0.9), 8);
}

// How often the interval contains the true median, over seeded series. With two thousand trials, a coverage
// of 95 % is known to within 1 %.
double coverage(int n, NoiseShape shape, double alpha) {
  constexpr int kTrials = 2000;
  // The spikes shift the noise's median slightly, so the truth comes from a very long series.
  Noise long_noise(shape, 99);
  std::vector<double> many(400'000);
  for (double& value : many) value = long_noise.next();
  const double truth = median(many);
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Noise noise(shape, 1000 + static_cast<std::uint64_t>(trial));
    std::vector<double> values(static_cast<std::size_t>(n));
    for (double& value : values) value = noise.next();
    const auto estimate = median_estimate(values, alpha);
    held += !estimate || estimate->interval.contains(truth);  // no interval can't be wrong
  }
  return held / double{kTrials};
}

TEST(MedianInterval, KeepsItsPromiseForSkewedSeries) {
  for (int n : {16, 37, 100, 500}) {
    EXPECT_GE(coverage(n, {.sigma = 0.05, .spikes = 0.2, .spike_size = 2}, 0.05), 0.94) << n;
  }
}

TEST(MedianInterval, KeepsItsPromiseForCorrelatedSeries) {
  for (double correlation : {0.3, 0.6, 0.8}) {
    EXPECT_GE(coverage(500, {.correlation = correlation, .spikes = 0.1}, 0.05), 0.92) << correlation;
  }
}

TEST(MedianInterval, KeepsItsPromiseAtTheSmallAlphasOfASequentialTest) {
  EXPECT_GE(coverage(64, {.spikes = 0.1}, 0.005), 0.99);
  EXPECT_GE(coverage(512, {.correlation = 0.6, .spikes = 0.1}, 0.005), 0.98);
}

// Without the correction for correlation, intervals would be too narrow by this factor.
TEST(MedianInterval, IsWiderForCorrelatedSeries) {
  const auto width = [](double correlation) {
    double sum = 0;
    for (int seed = 0; seed < 50; ++seed) {
      Noise noise({.correlation = correlation}, static_cast<std::uint64_t>(seed));
      std::vector<double> values(500);
      for (double& value : values) value = noise.next();
      const auto estimate = median_estimate(values, 0.05);
      sum += estimate->interval.high - estimate->interval.low;
    }
    return sum;
  };
  EXPECT_GT(width(0.8), 1.5 * width(0));
}

}  // namespace
}  // namespace dent::interval_test
