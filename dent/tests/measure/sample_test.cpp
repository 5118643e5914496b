// SPDX-License-Identifier: MIT
#include "measure/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/error.h"

namespace dent::sample_test {
namespace {

Pair pair_of(double baseline_ns, double candidate_ns) { return {{baseline_ns}, {candidate_ns}}; }

TEST(Sample, RatioIsPositiveWhereTheCandidateIsFaster) {
  const Pair pairs[] = {pair_of(200, 100), pair_of(100, 100), pair_of(100, 400)};
  const auto ratios = log_ratios(pairs);
  ASSERT_EQ(ratios.size(), 3u);
  EXPECT_DOUBLE_EQ(ratios[0], std::log(2.0));
  EXPECT_DOUBLE_EQ(ratios[1], 0);
  EXPECT_DOUBLE_EQ(ratios[2], -std::log(4.0));
}

TEST(Sample, WhatIsNoTimeIsRejectedByPairAndSide) {
  const double inf = std::numeric_limits<double>::infinity();
  for (double bad : {0.0, -0.0, -5.0, std::nan(""), inf, -inf}) {
    const Pair pairs[] = {pair_of(1, 1), pair_of(1, bad)};
    try {
      log_ratios(pairs);
      FAIL() << bad << " passed as a time";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("pair 1, candidate"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(log_ratios(std::vector{pair_of(std::nan(""), 1)}), Error);
}

TEST(Sample, NoCallsAndImpossibleClocksAreRejected) {
  EXPECT_FALSE(what_is_wrong({.ns = 1, .calls = 1, .clock_mhz = 1000}));
  EXPECT_TRUE(what_is_wrong({.ns = 1, .calls = 0, .clock_mhz = {}}));
  EXPECT_TRUE(what_is_wrong({.ns = 1, .calls = 1, .clock_mhz = 0}));
  EXPECT_TRUE(what_is_wrong({.ns = 1, .calls = 1, .clock_mhz = std::nan("")}));
}

TEST(Sample, MedianIsOfOneSide) {
  const Pair pairs[] = {pair_of(1, 10), pair_of(3, 30), pair_of(2, 1000)};
  EXPECT_DOUBLE_EQ(median_ns(pairs, Side::baseline), 2);
  EXPECT_DOUBLE_EQ(median_ns(pairs, Side::candidate), 30);
  EXPECT_DOUBLE_EQ(median_ns({}, Side::candidate), 0);
}

}  // namespace
}  // namespace dent::sample_test
