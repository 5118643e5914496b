// SPDX-License-Identifier: MIT
// Shapes, layouts, masks and scales: the CPU backend against the oracle.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/problem.h"

namespace flashmoe::test::forward_test {
namespace {

void expect_right(const Shape& shape) {
  Problem problem(shape);
  problem.run();
  EXPECT_AGREES_WITH_ORACLE(problem, shape);
}

constexpr int64_t kAwkward[] = {1, 3, 17, 31, 33, 127, 129, 577};

class ForwardOfType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, ForwardOfType, testing::ValuesIn(kDTypes),
                         [](const auto& type) { return name_of(type.param); });

TEST_P(ForwardOfType, AwkwardQueryAndKeyLengthsBothWays) {
  for (int64_t q_rows : kAwkward) {
    for (int64_t kv_rows : kAwkward) {
      const Mask mask = kMasks[(q_rows + kv_rows / 2) % 3];
      expect_right({.q_rows = q_rows, .kv_rows = kv_rows, .head_dim = 64, .dtype = GetParam(), .mask = mask});
    }
  }
}

TEST_P(ForwardOfType, CausalMasksOfBothAlignmentsAtAwkwardLengths) {
  for (Mask mask : {Mask::causal, Mask::causal_top_left}) {
    for (int64_t q_rows : {1, 17, 33, 129, 300}) {
      for (int64_t kv_rows : {1, 17, 33, 129, 300}) {
        expect_right(
            {.q_rows = q_rows, .kv_rows = kv_rows, .head_dim = 24, .dtype = GetParam(), .mask = mask});
      }
    }
  }
}

TEST_P(ForwardOfType, EveryHeadDimFromOneTo256) {
  for (int64_t head_dim = 1; head_dim <= 256; ++head_dim) {
    expect_right(
        {.q_rows = 9, .kv_rows = 19, .head_dim = head_dim, .dtype = GetParam(), .mask = Mask::causal});
  }
}

TEST_P(ForwardOfType, EveryHeadDimWithOneQueryRow) {
  for (int64_t head_dim = 1; head_dim <= 256; ++head_dim) {
    expect_right(
        {.q_heads = 3, .kv_heads = 1, .q_rows = 1, .kv_rows = 21, .head_dim = head_dim, .dtype = GetParam()});
  }
}

// Panels of rows, blocks of keys and pieces of tasks end at powers of two: one less and one more must work
// too.
TEST_P(ForwardOfType, LengthsAroundTileBoundaries) {
  for (int64_t around : {8, 16, 32, 64, 128, 256, 512, 1024}) {
    for (int64_t length = around - 1; length <= around + 1; ++length) {
      const Mask mask = kMasks[length % 3];
      expect_right({.q_rows = length, .kv_rows = 70, .head_dim = 20, .dtype = GetParam(), .mask = mask});
      expect_right({.q_rows = 21, .kv_rows = length, .head_dim = 20, .dtype = GetParam(), .mask = mask});
    }
  }
}

TEST_P(ForwardOfType, TasksOfManyRows) {
  for (Mask mask : kMasks) {
    expect_right({.q_rows = 2051, .kv_rows = 261, .head_dim = 8, .dtype = GetParam(), .mask = mask});
    expect_right({.q_heads = 5,
                  .kv_heads = 1,
                  .q_rows = 411,
                  .kv_rows = 515,
                  .head_dim = 8,
                  .dtype = GetParam(),
                  .mask = mask});
  }
}

TEST_P(ForwardOfType, GroupsOfQueryHeads) {
  for (int64_t kv_heads : {1, 2, 3}) {
    for (int64_t group : {1, 2, 3, 4, 7, 8}) {
      for (Mask mask : {Mask::none, Mask::causal}) {
        expect_right({.batch = 2,
                      .q_heads = kv_heads * group,
                      .kv_heads = kv_heads,
                      .q_rows = 13,
                      .kv_rows = 37,
                      .head_dim = 32,
                      .dtype = GetParam(),
                      .mask = mask});
      }
    }
  }
}

TEST_P(ForwardOfType, MultiQueryWithManyHeads) {
  expect_right(
      {.q_heads = 71, .kv_heads = 1, .q_rows = 5, .kv_rows = 130, .dtype = GetParam(), .mask = Mask::causal});
}

TEST_P(ForwardOfType, EveryLayout) {
  for (Layout layout : kLayouts) {
    for (Mask mask : kMasks) {
      for (int64_t head_dim : {1, 5, 64, 80}) {
        expect_right({.batch = 3,
                      .q_heads = 4,
                      .kv_heads = 2,
                      .q_rows = 35,
                      .kv_rows = 67,
                      .head_dim = head_dim,
                      .dtype = GetParam(),
                      .mask = mask,
                      .layout = layout});
        expect_right({.batch = 2,
                      .q_heads = 4,
                      .kv_heads = 2,
                      .q_rows = 1,
                      .kv_rows = 67,
                      .head_dim = head_dim,
                      .dtype = GetParam(),
                      .mask = mask,
                      .layout = layout});
      }
    }
  }
}

TEST_P(ForwardOfType, OneKeyForEveryRowByARowStrideOfZero) {
  const Shape shape{
      .q_heads = 2, .kv_heads = 2, .q_rows = 19, .kv_rows = 75, .dtype = GetParam(), .mask = Mask::causal};
  Problem problem(shape);
  problem.args.k.strides[2] = 0;
  problem.args.q.strides[2] = 0;
  problem.run();
  EXPECT_AGREES_WITH_ORACLE(problem, shape);
  problem.args.v.strides[2] = 0;
  problem.run();
  EXPECT_AGREES_WITH_ORACLE(problem, shape);
}

TEST_P(ForwardOfType, LayoutsMayDifferBetweenTensors) {
  const Shape shape{
      .batch = 2, .q_heads = 2, .kv_heads = 2, .q_rows = 11, .kv_rows = 11, .dtype = GetParam()};
  Problem a(shape);
  Shape other = shape;
  other.layout = Layout::padded;
  Problem b(other);
  other.layout = Layout::reversed;
  Problem c(other);
  a.args.k = b.args.k;
  a.args.v = c.args.v;
  a.run();
  EXPECT_AGREES_WITH_ORACLE(a, shape);
}

TEST_P(ForwardOfType, StridesOfDimensionsOfSizeOneDoNotMatter) {
  const Shape shape{.q_rows = 1, .kv_rows = 5, .head_dim = 1, .dtype = GetParam()};
  Problem problem(shape);
  constexpr int64_t kWild[] = {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), -3};
  for (Tensor* t : {&problem.args.q, &problem.args.k, &problem.args.v, &problem.args.out}) {
    t->strides[0] = kWild[0];
    t->strides[1] = kWild[1];
    if (t->sizes[2] == 1) t->strides[2] = kWild[2];
    t->strides[3] = 77;
  }
  problem.run();
  EXPECT_AGREES_WITH_ORACLE(problem, shape);
}

TEST_P(ForwardOfType, ScaleGivenZeroNegativeTinyOrLarge) {
  for (float scale : {1.0F, 0.0F, -0.125F, -2.0F, 1e-30F, 7.5F}) {
    for (int64_t q_rows : {1, 21}) {
      expect_right({.q_heads = 2,
                    .kv_heads = 1,
                    .q_rows = q_rows,
                    .kv_rows = 140,
                    .dtype = GetParam(),
                    .mask = Mask::causal,
                    .scale = scale});
    }
  }
}

TEST_P(ForwardOfType, LseIsOptional) {
  for (int64_t q_rows : {1, 40}) {
    const Shape shape{.q_rows = q_rows, .kv_rows = 1030, .dtype = GetParam()};
    Problem with(shape);
    with.run();
    Problem without(shape);
    without.args.lse = nullptr;
    without.run();
    EXPECT_AGREES_WITH_ORACLE(without, shape);
    const auto bytes = [](const Problem& p) {
      const auto* out = static_cast<const std::byte*>(p.args.out.data);
      return std::vector<std::byte>(out, out + p.args.q.sizes[2] * 64 * element_bytes(p.args.q.dtype));
    };
    EXPECT_EQ(bytes(with), bytes(without)) << "lse changes the output";
  }
}

TEST_P(ForwardOfType, RowsThatSeeNoKeyGiveZeroAndMinusInfinity) {
  for (int64_t q_rows : {40, 200, 600}) {
    for (int64_t kv_rows : {1, 5, 33}) {
      const Shape shape{.q_heads = 2,
                        .kv_heads = 1,
                        .q_rows = q_rows,
                        .kv_rows = kv_rows,
                        .dtype = GetParam(),
                        .mask = Mask::causal};
      Problem problem(shape);
      problem.run();
      EXPECT_AGREES_WITH_ORACLE(problem, shape);
      for (int64_t h = 0; h < 2; ++h) {
        for (int64_t s = 0; s < q_rows - kv_rows; ++s) {
          ASSERT_EQ(problem.lse(0, h, s), -std::numeric_limits<float>::infinity());
          for (int64_t d = 0; d < 64; ++d) ASSERT_EQ(problem.out(0, h, s, d), 0.0F) << "row " << s;
        }
      }
    }
  }
}

TEST_P(ForwardOfType, InputsStayAsTheyWere) {
  const Shape shape{.q_heads = 4, .kv_heads = 2, .q_rows = 33, .kv_rows = 65, .dtype = GetParam()};
  Problem problem(shape);
  const auto checksum = [&](const Tensor& t) {
    const auto* data = static_cast<const std::byte*>(t.data);
    return std::vector<std::byte>(data, data + t.sizes[1] * t.sizes[2] * t.sizes[3] * element_bytes(t.dtype));
  };
  const auto q = checksum(problem.args.q), k = checksum(problem.args.k), v = checksum(problem.args.v);
  problem.run();
  EXPECT_EQ(checksum(problem.args.q), q);
  EXPECT_EQ(checksum(problem.args.k), k);
  EXPECT_EQ(checksum(problem.args.v), v);
}

TEST(Forward, BothAlignmentsAreTheSameForSquareShapesAndDifferOtherwise) {
  for (int64_t kv_rows : {33, 50}) {
    Shape shape{.q_rows = 33, .kv_rows = kv_rows, .mask = Mask::causal};
    Problem bottom_right(shape);
    bottom_right.run();
    shape.mask = Mask::causal_top_left;
    Problem top_left(shape);
    top_left.run();
    EXPECT_EQ(bottom_right.output_bytes() == top_left.output_bytes(), kv_rows == 33);
  }
}

// Keys that are multiplied together are far apart where a block is whole and every row sees all of it.
TEST(Decode, TakesAnyNumberOfKeysInsideRows) {
  for (DType dtype : kDTypes) {
    for (int64_t q_rows : {1, 3}) {
      for (int64_t keys : {3, 33, 63, 64, 65, 66, 68, 127, 130, 513}) {
        const Shape shape{.q_heads = 6,
                          .kv_heads = 3,
                          .q_rows = q_rows,
                          .kv_rows = keys,
                          .head_dim = 64,
                          .dtype = dtype,
                          .mask = Mask::causal,
                          .layout = Layout::bshd,
                          .threads = 1};
        Problem problem(shape);
        problem.run();
        EXPECT_AGREES_WITH_ORACLE(problem, shape);
      }
    }
  }
}

// Heads inside rows are read together, those of a thread in turns; the last turn is short.
TEST(Decode, TakesManyHeadsInsideRows) {
  for (int64_t head_dim : {40, 128}) {
    for (int64_t q_heads : {8, 32}) {
      for (int threads : {1, 2, 3}) {
        const Shape shape{.batch = 2,
                          .q_heads = q_heads,
                          .kv_heads = 8,
                          .q_rows = 2,
                          .kv_rows = 577,
                          .head_dim = head_dim,
                          .mask = Mask::causal,
                          .layout = Layout::bshd,
                          .threads = threads};
        Problem problem(shape);
        problem.run();
        EXPECT_AGREES_WITH_ORACLE(problem, shape);
      }
    }
  }
}

}  // namespace
}  // namespace flashmoe::test::forward_test
