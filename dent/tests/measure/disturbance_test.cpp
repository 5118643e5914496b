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

TEST(Disturbance, SaysSoInOneLine) {
  EXPECT_EQ(busy_in_words({.processors = 2, .others = 1.42, .waited = 0.338}),
            "busy machine: other programs had 1.4 of 2 processors, the kernels waited 34 % of their time");
}

}  // namespace
}  // namespace dent::disturbance_test
