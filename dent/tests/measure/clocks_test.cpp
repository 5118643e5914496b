// SPDX-License-Identifier: MIT
#include "measure/clocks.h"

#include <gtest/gtest.h>

#include <vector>

namespace dent::clocks_test {
namespace {

Pair with_clocks(std::optional<double> baseline, std::optional<double> candidate) {
  return {{100, 1, baseline}, {100, 1, candidate}};
}

TEST(Clocks, APairWithALoweredClockIsSetAside) {
  std::vector<Pair> pairs(20, with_clocks(1980, 1975));
  pairs[3] = with_clocks(1980, 1200);
  pairs[7] = with_clocks(1400, 1980);
  const Sifted sifted = set_aside_slow_clocks(pairs, {});
  EXPECT_EQ(sifted.aside, (std::vector<std::size_t>{3, 7}));
  EXPECT_EQ(sifted.kept.size(), 18u);
  EXPECT_EQ(sifted.clock_mhz, 1980);
}

TEST(Clocks, OneOddReadingDoesNotCondemnTheRest) {
  std::vector<Pair> pairs(20, with_clocks(1000, 1000));
  pairs[0] = with_clocks(3000, 1000);
  EXPECT_TRUE(set_aside_slow_clocks(pairs, {}).aside.empty());
}

TEST(Clocks, TheNominalClockCatchesADeviceThatIsSlowThroughout) {
  const std::vector<Pair> pairs(10, with_clocks(1200, 1200));
  EXPECT_TRUE(set_aside_slow_clocks(pairs, {}).aside.empty());
  EXPECT_EQ(set_aside_slow_clocks(pairs, {.nominal_mhz = 1980}).aside.size(), 10u);
}

TEST(Clocks, WithoutReadingsEverythingIsKept) {
  const std::vector<Pair> pairs(10, with_clocks({}, {}));
  const Sifted sifted = set_aside_slow_clocks(pairs, {});
  EXPECT_EQ(sifted.kept.size(), 10u);
  EXPECT_FALSE(sifted.clock_mhz);
}

}  // namespace
}  // namespace dent::clocks_test
