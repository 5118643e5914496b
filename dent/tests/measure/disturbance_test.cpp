// SPDX-License-Identifier: MIT
#include "measure/disturbance.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dent::disturbance_test {
namespace {

TEST(Disturbance, AMachineIsBusyByItsProcessorsOrByWaiting) {
  EXPECT_FALSE(is_busy({.processors = 2, .others = 1, .waited = 0.01}));
  EXPECT_TRUE(is_busy({.processors = 2, .others = 1.4, .waited = 0}));
  EXPECT_FALSE(is_busy({.processors = 64, .others = 10, .waited = 0}));
  EXPECT_TRUE(is_busy({.processors = 64, .others = 1, .waited = 0.1}));
  EXPECT_TRUE(is_busy({.processors = 2, .others = std::nan(""), .waited = 0}));
}

// Half of the time without a processor: either side may have been twice as slow.
TEST(Disturbance, WaitingWidensBothEnds) {
  const Ratio ratio = widened({3, {2.9, 3.1}}, doubt_of({.processors = 2, .others = 2, .waited = 0.5}));
  EXPECT_DOUBLE_EQ(ratio.centre, 3);
  EXPECT_DOUBLE_EQ(ratio.interval.low, 1.45);
  EXPECT_DOUBLE_EQ(ratio.interval.high, 6.2);
  EXPECT_EQ(doubt_of({.processors = 2}), Doubt{});
  EXPECT_TRUE(std::isfinite(doubt_of({.processors = 2, .others = 2, .waited = 1}).high));
}

TEST(Disturbance, SaysSoInOneLine) {
  EXPECT_EQ(busy_in_words({.processors = 2, .others = 1.42, .waited = 0.338}),
            "busy machine: other programs had 1.4 of 2 processors, the kernels waited 34 % of their time");
}

}  // namespace
}  // namespace dent::disturbance_test
