// SPDX-License-Identifier: MIT
// What kernels are told of a window is what the problem says.
#include "kernels/runs.h"

#include <gtest/gtest.h>

#include "dispatch/runs.h"
#include "support/dice.h"
#include "support/problem.h"

namespace flashmoe::dispatch::runs_test {
namespace {

TEST(Runs, AreWhatTheProblemSees) {
  constexpr int64_t kFar = Window::kUnlimited;
  for (const Mask mask : test::kMasks) {
    for (const int64_t q_rows : {1, 7, 40}) {
      for (const int64_t kv_rows : {0, 1, 7, 40}) {
        for (const int64_t left :
             {int64_t{0}, int64_t{1}, int64_t{6}, int64_t{39}, int64_t{90}, kFar - 1, kFar}) {
          for (const int64_t right : {int64_t{0}, int64_t{2}, int64_t{40}, int64_t{90}, kFar - 1, kFar}) {
            const ForwardProblem p{
                .q_rows = q_rows, .kv_rows = kv_rows, .mask = mask, .window = {left, right}};
            const kernels::Runs runs = runs_of(p);
            EXPECT_GE(runs.begin, -q_rows);
            EXPECT_LE(runs.end, kv_rows);
            for (int64_t row = 0; row < q_rows; ++row) {
              const auto [begin, end] =
                  runs.visible(static_cast<int>(row), static_cast<int>(q_rows), static_cast<int>(kv_rows));
              const Range expected = p.visible(row);
              for (int64_t key = 0; key < kv_rows; ++key) {
                ASSERT_EQ(runs.sees(static_cast<int>(row), static_cast<int>(key)),
                          expected.begin <= key && key < expected.end);
              }
              ASSERT_EQ(begin, expected.begin) << name_of(mask) << " " << q_rows << " x " << kv_rows
                                               << ", window " << left << ", " << right << ", row " << row;
              ASSERT_EQ(end, expected.end) << name_of(mask) << " " << q_rows << " x " << kv_rows
                                           << ", window " << left << ", " << right << ", row " << row;
            }
          }
        }
      }
    }
  }
}

// 2^30 rows are the most that kernels number.
TEST(Runs, FitAnIntHoweverLongRowsAre) {
  constexpr int kMost = 1 << 30;
  for (const int64_t left : {int64_t{0}, int64_t{5}, int64_t{kMost}, Window::kUnlimited}) {
    for (const Mask mask : test::kMasks) {
      const ForwardProblem p{.q_rows = kMost, .kv_rows = kMost, .mask = mask, .window = {left, 7}};
      for (const int64_t row : {int64_t{0}, int64_t{kMost / 2}, int64_t{kMost - 1}}) {
        const kernels::Run run = runs_of(p).visible(static_cast<int>(row), kMost, kMost);
        EXPECT_EQ(run.begin, p.visible(row).begin);
        EXPECT_EQ(run.end, p.visible(row).end);
      }
      EXPECT_EQ(runs_of(p).visible(kMost + 255, kMost, kMost).end, p.visible(kMost - 1).end);
    }
  }
}

TEST(Runs, AWordHasABitForEachElementOfALane) {
  for (int begin = -20; begin < 150; ++begin) {
    for (const int end : {-3, 0, 1, 2, 3, 8, 9, 10, 63, 64, 127, 128, 129, 1000}) {
      const uint32_t word = kernels::elements_between(begin, end);
      for (int element = 0; element < 32; ++element) {
        const int column = 8 * (element / 2) + element % 2;
        ASSERT_EQ(word >> element & 1, begin <= column && column < end ? 1U : 0U)
            << "columns " << begin << " to " << end << ", column " << column;
      }
    }
  }
}

// What planners count is what the runs of all rows of a tile need.
TEST(Runs, ATileWalksOverTheBlocksThatItsRowsSee) {
  test::Dice dice(7);
  for (int i = 0; i < 2000; ++i) {
    ForwardProblem p{.q_rows = dice.between(1, 300), .kv_rows = dice.between(1, 300)};
    p.mask = dice.one_of(test::kMasks);
    p.window = dice.window(p.kv_rows);
    const int pack = dice.one_of({1, 2, 8});
    constexpr int kTileQ = 64, kTileKv = 48;
    for (int64_t tile = 0; tile * kTileQ < p.q_rows * pack; ++tile) {
      int64_t begin = p.kv_rows, end = 0;
      for (int64_t row = tile * kTileQ; row < std::min((tile + 1) * kTileQ, p.q_rows * pack); ++row) {
        const Range seen = p.visible(row / pack);
        begin = std::min(begin, seen.begin);
        end = std::max(end, seen.end);
      }
      if (!p.window.limits()) begin = 0;
      ASSERT_EQ(key_blocks(p, kTileQ, kTileKv, pack, tile), ceil_div(end, kTileKv) - begin / kTileKv);
      EXPECT_LE(end - begin, most_keys(p, kTileQ / pack));
    }
  }
}

}  // namespace
}  // namespace flashmoe::dispatch::runs_test
