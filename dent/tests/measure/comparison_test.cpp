// SPDX-License-Identifier: MIT
#include "measure/comparison.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "measure/simulated.h"

namespace dent::comparison_test {
namespace {

using test::simulated_pairs;

TEST(Comparison, SaysWhatItRestsOn) {
  const Comparison c = compare(simulated_pairs(300, 1.5, {}, 1), {});
  EXPECT_EQ(c.verdict, SpeedVerdict::faster);
  EXPECT_EQ(c.pairs, 300u);
  EXPECT_NEAR(c.baseline_ns, 1000, 10);
  EXPECT_NEAR(c.candidate_ns, 667, 10);
  EXPECT_NE(c.reason.find("lies above 1"), std::string::npos) << c.reason;
}

TEST(Comparison, TooFewPairsAreAmbiguousAndNotNaN) {
  for (int n : {0, 1, 5}) {
    const Comparison c = compare(simulated_pairs(n, 2, {}, 1), {});
    EXPECT_EQ(c.verdict, SpeedVerdict::ambiguous);
    EXPECT_FALSE(c.ratio);
    EXPECT_FALSE(std::isnan(c.baseline_ns));
    EXPECT_NE(c.reason.find("too few"), std::string::npos) << c.reason;
  }
}

TEST(Comparison, SaysWhenManyPairsCountAsFew) {
  auto pairs = simulated_pairs(60, 1, {.sigma = 0.001, .spikes = 0}, 1);
  for (std::size_t i = 30; i < 60; ++i) pairs[i].candidate.ns *= 2;  // one long phase
  const Comparison c = compare(pairs, {});
  EXPECT_EQ(c.verdict, SpeedVerdict::ambiguous);
  EXPECT_NE(c.reason.find("goes in phases"), std::string::npos) << c.reason;
}

// Samples on a lowered clock must not decide; here they alone make the candidate look slow.
TEST(Comparison, ThrottledPairsAreCountedAndLeftOut) {
  auto pairs = simulated_pairs(200, 1.0, {.sigma = 0.005, .spikes = 0}, 2);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const bool throttled = i % 5 == 0;
    pairs[i].baseline.clock_mhz = 2000;
    pairs[i].candidate.clock_mhz = throttled ? 1000 : 2000;
    if (throttled) pairs[i].candidate.ns *= 2;
  }
  const Comparison c = compare(pairs, {});
  EXPECT_EQ(c.verdict, SpeedVerdict::same);
  ASSERT_EQ(c.aside.size(), 40u);
  EXPECT_EQ(c.aside[1], 5u);
  EXPECT_EQ(c.pairs, 160u);
}

TEST(Comparison, MostlyThrottledProvesNothing) {
  auto pairs = simulated_pairs(100, 2.0, {}, 3);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i].baseline.clock_mhz = pairs[i].candidate.clock_mhz = i % 10 < 6 ? 1000 : 2000;
  }
  const Comparison c = compare(pairs, {});
  EXPECT_EQ(c.verdict, SpeedVerdict::ambiguous);
  EXPECT_NE(c.reason.find("60 of 100"), std::string::npos) << c.reason;
}

TEST(Comparison, ABrokenSampleIsAnErrorEvenInAPairToBeSetAside) {
  auto pairs = simulated_pairs(20, 1, {}, 4);
  for (Pair& pair : pairs) pair.baseline.clock_mhz = pair.candidate.clock_mhz = 2000;
  pairs[2].candidate.clock_mhz = 500;
  pairs[2].baseline.ns = std::nan("");
  EXPECT_THROW(compare(pairs, {}), Error);
}

}  // namespace
}  // namespace dent::comparison_test
