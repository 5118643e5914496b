// SPDX-License-Identifier: MIT
#include "cpu/combine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "cpu/store_row.h"

namespace flashmoe::cpu::combine_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// One row of two columns from several splits.
struct Split {
  float max, sum;
  float out[2];
};
struct Row {
  float out[2];
  float lse;
};

Row combine(const std::vector<Split>& splits) {
  const ForwardProblem problem{.q_rows = 1, .kv_rows = 1, .head_dim = 2};
  std::vector<float> out, max, sum;
  for (const Split& s : splits) {
    out.insert(out.end(), {s.out[0], s.out[1]});
    max.push_back(s.max);
    sum.push_back(s.sum);
  }
  Row row{{kNan, kNan}, kNan};
  Task task{};
  task.problem = &problem;
  task.out = row.out;
  task.out_head_stride = 2;
  task.out_row_stride = 2;
  task.lse = &row.lse;
  task.row_end = 1;
  combine_splits(task, static_cast<int64_t>(splits.size()), out.data(), max.data(), sum.data());
  return row;
}

TEST(Combine, WeighsEachSplitByItsShare) {
  // Scores 3 and 1 (log2) against values (8, 0) and (0, 4): weights 4/5 and 1/5.
  const Row row = combine({{3, 1, {8, 0}}, {1, 1, {0, 4}}});
  EXPECT_FLOAT_EQ(row.out[0], 6.4F);
  EXPECT_FLOAT_EQ(row.out[1], 0.8F);
  EXPECT_FLOAT_EQ(row.lse, (3 + std::log2(1.25F)) * std::log(2.0F));
}

TEST(Combine, EmptySplitsChangeNothing) {
  const Split empty{-kInfinity, 0, {0, 0}};
  const Split full{-700, 2, {6, -2}};
  for (const auto& splits : {std::vector{full, empty, empty}, {empty, full, empty}, {empty, empty, full}}) {
    const Row row = combine(splits);
    EXPECT_EQ(row.out[0], 3);
    EXPECT_EQ(row.out[1], -1);
    EXPECT_FLOAT_EQ(row.lse, -699 * std::log(2.0F));
  }
}

TEST(Combine, RowsThatSeeNothingGiveZeros) {
  const Row row = combine({{-kInfinity, 0, {0, 0}}, {-kInfinity, 0, {0, 0}}});
  EXPECT_EQ(row.out[0], 0);
  EXPECT_EQ(row.out[1], 0);
  EXPECT_EQ(row.lse, -kInfinity);
}

TEST(Combine, NanInOneSplitMakesTheRowNan) {
  for (const auto& splits : {std::vector<Split>{{1, kNan, {kNan, kNan}}, {2, 1, {1, 1}}},
                             std::vector<Split>{{2, 1, {1, 1}}, {1, kNan, {kNan, kNan}}},
                             std::vector<Split>{{kNan, kNan, {kNan, kNan}}, {2, 1, {1, 1}}}}) {
    const Row row = combine(splits);
    EXPECT_TRUE(std::isnan(row.out[0]));
    EXPECT_TRUE(std::isnan(row.out[1]));
    EXPECT_TRUE(std::isnan(row.lse));
  }
}

TEST(Combine, ScoresFarApartDoNotOverflow) {
  const Row row = combine({{-30000, 1, {5, 5}}, {30000, 2, {4, 2}}});
  EXPECT_EQ(row.out[0], 2);
  EXPECT_EQ(row.out[1], 1);
  EXPECT_FLOAT_EQ(row.lse, 30001 * std::log(2.0F));
}

}  // namespace
}  // namespace flashmoe::cpu::combine_test
