// SPDX-License-Identifier: MIT
#include "measure/verdict.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"

namespace dent::verdict_test {
namespace {

SpeedVerdict of(double low, double centre, double high) { return judge(Ratio{centre, {low, high}}, 0.01); }

TEST(SpeedVerdict, NeverClaimsWhatIncludesOne) {
  EXPECT_EQ(of(0.99, 1.05, 1.2), SpeedVerdict::ambiguous);
  EXPECT_EQ(of(1.0, 1.05, 1.2), SpeedVerdict::ambiguous);
  EXPECT_EQ(of(0.8, 0.95, 1.0), SpeedVerdict::ambiguous);
  EXPECT_EQ(of(0.9, 1.0, 1.1), SpeedVerdict::ambiguous);
  EXPECT_EQ(judge(std::nullopt, 0.01), SpeedVerdict::ambiguous);
}

TEST(SpeedVerdict, ClaimsWhatIsClear) {
  EXPECT_EQ(of(1.02, 1.03, 1.04), SpeedVerdict::faster);
  EXPECT_EQ(of(0.95, 0.97, 0.98), SpeedVerdict::slower);
  EXPECT_EQ(of(0.995, 1.0, 1.005), SpeedVerdict::same);
}

TEST(SpeedVerdict, ADifferenceTooSmallToCountIsTheSameEvenWhenItIsCertain) {
  EXPECT_EQ(of(1.004, 1.005, 1.006), SpeedVerdict::same);
  EXPECT_EQ(of(0.994, 0.995, 0.996), SpeedVerdict::same);
}

TEST(SpeedVerdict, ASmallBiasIsNoGain) {
  EXPECT_EQ(of(1.002, 1.008, 1.014), SpeedVerdict::ambiguous);
  EXPECT_EQ(of(0.985, 0.992, 0.998), SpeedVerdict::ambiguous);
}

TEST(SpeedVerdict, NamesGoBothWays) {
  for (auto verdict :
       {SpeedVerdict::faster, SpeedVerdict::slower, SpeedVerdict::same, SpeedVerdict::ambiguous}) {
    EXPECT_EQ(parse_word<SpeedVerdict>(name(verdict)), verdict);
  }
  EXPECT_FALSE(parse_word<SpeedVerdict>("faster"));
}

TEST(SpeedVerdict, TheWholeIsNotFasterOrSlowerUnlessAPartIs) {
  const std::vector unsure{SpeedVerdict::ambiguous, SpeedVerdict::same};
  const std::vector one{SpeedVerdict::ambiguous, SpeedVerdict::faster};
  EXPECT_EQ(judge_whole({1.2, {1.1, 1.3}}, unsure, 0.01), SpeedVerdict::ambiguous);
  EXPECT_EQ(judge_whole({1.2, {1.1, 1.3}}, one, 0.01), SpeedVerdict::faster);
  EXPECT_EQ(judge_whole({0.8, {0.7, 0.9}}, one, 0.01), SpeedVerdict::ambiguous);
  EXPECT_EQ(judge_whole({1.0, {0.999, 1.001}}, unsure, 0.01), SpeedVerdict::same);
}

}  // namespace
}  // namespace dent::verdict_test
