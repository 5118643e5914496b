// SPDX-License-Identifier: MIT
// A seeded random sweep over sequences of different lengths, forward and backward: packed and padded, used in
// part, empty, with every mask, layout, scale and thread count.
//   FLASHMOE_SWEEP=100   so many seeds per dtype instead of 150
//   FLASHMOE_SEED=1234   that seed alone
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/backward_call.h"
#include "support/sequences.h"

namespace flashmoe::test::lengths_sweep_test {
namespace {

Shape shape_of(uint64_t seed, DType dtype) {
  Dice dice(seed);
  Shape shape{.dtype = dtype, .seed = seed};
  shape.mask = dice.one_of(kMasks);
  shape.layout = dice.one_of(kLayouts);
  shape.spread = dice.one_of({1.0F, 1.0F, 0.1F, 4.0F, 30.0F});
  shape.threads = static_cast<int>(dice.one_of({1, 2, 3, 8, 64}));
  if (dice.between(0, 3) == 0) shape.scale = dice.one_of({1.0F, -0.3F, 0.01F, 0.0F});
  shape.head_dim = dice.one_of({0, 32, 64, 64, 80, 128});
  if (shape.head_dim == 0) shape.head_dim = dice.between(1, 256);
  shape.kv_heads = dice.one_of({1, 1, 2, 3});
  shape.q_heads = shape.kv_heads * dice.one_of({1, 1, 2, 4, 5});
  int64_t rows = dice.length(600), keys = dice.length(600);
  // Sizes shrink until the oracle takes about ten milliseconds.
  while (shape.q_heads * rows * keys * shape.head_dim > 4'000'000) (rows > keys ? rows : keys) /= 2;
  throw_lengths(dice, rows, keys, shape);
  shape.window = dice.window(keys / shape.batch);
  shape.hidden = dice.hidden();
  return shape;
}

class LengthsSweepOfType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, LengthsSweepOfType, testing::ValuesIn(kDTypes),
                         [](const auto& type) { return name_of(type.param); });

TEST_P(LengthsSweepOfType, RandomLengthsAgreeWithTheOracle) {
  const bool one_seed = std::getenv("FLASHMOE_SEED") != nullptr;
  const uint64_t first = number_from("FLASHMOE_SEED", 1);
  const uint64_t count = one_seed ? 1 : number_from("FLASHMOE_SWEEP", 150);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Shape shape = shape_of(seed, GetParam());
    Problem forward(shape);
    forward.run();
    EXPECT_AGREES_WITH_ORACLE(forward, shape) << "\nto run it alone: FLASHMOE_SEED=" << seed;
    const BackwardProblem backward(shape, seed % 2 == 0);
    run_backward(arguments_of(backward));
    EXPECT_EQ(backward.disagreement(), "") << describe(shape) << "\nto run it alone: FLASHMOE_SEED=" << seed;
  }
}

}  // namespace
}  // namespace flashmoe::test::lengths_sweep_test
