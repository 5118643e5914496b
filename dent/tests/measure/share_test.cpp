// SPDX-License-Identifier: MIT
#include "measure/share.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace dent::share_test {
namespace {

// 0 of n: 1 - (alpha / 2) ^ (1 / n). 5 of 10: from tables.
TEST(ShareInterval, IsThatOfClopperAndPearson) {
  const Interval none = share_interval(0, 10, 0.05);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 1 - std::pow(0.025, 0.1), 1e-9);
  const Interval half = share_interval(5, 10, 0.05);
  EXPECT_NEAR(half.low, 0.1871, 5e-5);
  EXPECT_NEAR(half.high, 0.8129, 5e-5);
  const Interval all = share_interval(10, 10, 0.05);
  EXPECT_NEAR(all.low, std::pow(0.025, 0.1), 1e-9);
  EXPECT_EQ(all.high, 1);
}

// Summed over all outcomes, the chance that the interval misses is at most alpha for every true share.
TEST(ShareInterval, MissesAtMostAsOftenAsItSays) {
  for (const int of : {1, 7, 30}) {
    for (const double truth : {0.01, 0.3, 0.5, 0.9}) {
      double missed = 0;
      for (int k = 0; k <= of; ++k) {
        const double chance =
            std::exp(std::lgamma(of + 1.0) - std::lgamma(k + 1.0) - std::lgamma(of - k + 1.0) +
                     k * std::log(truth) + (of - k) * std::log(1 - truth));
        if (!share_interval(k, of, 0.05).contains(truth)) missed += chance;
      }
      EXPECT_LE(missed, 0.05) << truth << " of " << of;
    }
  }
}

TEST(ShareInterval, OfNothingIsEverything) {
  EXPECT_EQ(share_interval(0, 0, 0.05), (Interval{0, 1}));
  EXPECT_THROW(share_interval(2, 1, 0.05), Error);
}

}  // namespace
}  // namespace dent::share_test
