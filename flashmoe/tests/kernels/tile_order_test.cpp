// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <tuple>

#include "kernels/forward_params.h"

namespace flashmoe::kernels::tile_order_test {
namespace {

TEST(Divisor, DividesAsTheLanguageDoes) {
  std::mt19937 random(42);
  constexpr uint32_t kMost = (uint32_t{1} << 31) - 1;
  for (int i = 0; i < 100'000; ++i) {
    const uint32_t value = std::max<uint32_t>(1, random() >> (1 + random() % 31));
    const Divisor by(value);
    const uint32_t any = random() >> (1 + random() % 31);
    for (uint32_t x : {any, any / value * value, std::max<uint32_t>(1, any / value * value) - 1, kMost, 0U}) {
      ASSERT_EQ(by.divide(x), x / value) << x << " / " << value;
    }
  }
}

TEST(TileOrder, EveryTileComesOnceAndHeadsOfAGroupShareRows) {
  for (int heads : {1, 3, 8}) {
    for (int batch : {1, 2, 5}) {
      for (int at_once = 1; at_once <= heads * batch; ++at_once) {
        for (bool last_first : {false, true}) {
          const int q_tiles = 4;
          const TileOrder order(q_tiles, heads, batch, at_once, last_first);
          std::set<std::tuple<int, int, int>> seen;
          const int blocks = q_tiles * heads * batch;
          for (int block = 0; block < blocks; ++block) {
            const auto tile = order.tile(static_cast<uint32_t>(block));
            EXPECT_TRUE(seen.emplace(tile.batch, tile.head, tile.q_tile).second);
            EXPECT_TRUE(tile.head >= 0 && tile.head < heads && tile.batch >= 0 && tile.batch < batch);
            const int group = (tile.batch * heads + tile.head) / at_once;
            EXPECT_EQ(group, block / (q_tiles * at_once));
            if (block % (q_tiles * at_once) == 0) {
              EXPECT_EQ(tile.q_tile, last_first ? q_tiles - 1 : 0);
            }
          }
          EXPECT_EQ(seen.size(), static_cast<std::size_t>(blocks));
        }
      }
    }
  }
}

}  // namespace
}  // namespace flashmoe::kernels::tile_order_test
