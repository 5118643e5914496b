// SPDX-License-Identifier: MIT
#include "measure/stop_rule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace dent::stop_rule_test {
namespace {

Comparison comparison_of(SpeedVerdict verdict, double low, double centre, double high) {
  Comparison c;
  c.verdict = verdict;
  c.ratio = Ratio{centre, {low, high}};
  return c;
}

TEST(StopRule, LooksDoubleUpToTheCap) {
  EXPECT_EQ(looks({.min_pairs = 16, .max_pairs = 100}), (std::vector{16, 32, 64, 100}));
  EXPECT_EQ(looks({.min_pairs = 8, .max_pairs = 8}), (std::vector{8}));
}

TEST(StopRule, EachLookSpendsItsPartOfAlpha) {
  const StopRule stop{.min_pairs = 16, .max_pairs = 100};
  EXPECT_DOUBLE_EQ(at_one_look({.alpha = 0.05}, stop).alpha, 0.0125);
}

TEST(StopRule, ARuleWithoutSenseIsAnError) {
  EXPECT_THROW(looks({.min_pairs = 0}), Error);
  EXPECT_THROW(looks({.min_pairs = 10, .max_pairs = 9}), Error);
  EXPECT_THROW(looks({.precision = 0}), Error);
  EXPECT_THROW(looks({.precision = std::nan("")}), Error);
}

TEST(StopRule, GoesOnUntilTheVerdictIsClearAndTheIntervalNarrow) {
  const StopRule rule{.precision = 0.01};
  EXPECT_TRUE(decided(comparison_of(SpeedVerdict::faster, 1.495, 1.5, 1.505), rule, 0.01));
  EXPECT_FALSE(decided(comparison_of(SpeedVerdict::faster, 1.4, 1.5, 1.505), rule, 0.01));
  EXPECT_TRUE(decided(comparison_of(SpeedVerdict::same, 0.995, 1.0, 1.005), rule, 0.01));
  // Measured for two equal programs after 32 pairs.
  EXPECT_FALSE(decided(comparison_of(SpeedVerdict::faster, 1.0034, 1.0104, 1.0181), rule, 0.01));
  EXPECT_FALSE(decided(comparison_of(SpeedVerdict::slower, 0.983, 0.988, 0.993), rule, 0.01));
  EXPECT_TRUE(decided(comparison_of(SpeedVerdict::slower, 0.975, 0.98, 0.985), rule, 0.01));
  EXPECT_FALSE(decided(comparison_of(SpeedVerdict::ambiguous, 1.003, 1.008, 1.012), rule, 0.01));
  EXPECT_FALSE(decided(Comparison{}, rule, 0.01));
}

}  // namespace
}  // namespace dent::stop_rule_test
