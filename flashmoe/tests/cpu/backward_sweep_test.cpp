// SPDX-License-Identifier: MIT
// A seeded random sweep of gradients over shapes, layouts, masks, windows, scales and thread counts.
//   FLASHMOE_SWEEP=100   so many seeds per dtype instead of 250
//   FLASHMOE_SEED=1234   that seed alone
#include <gtest/gtest.h>

#include <cstdlib>

#include "cpu/backward_run.h"
#include "support/dice.h"

namespace flashmoe::test::backward_sweep_test {
namespace {

Shape shape_of(uint64_t seed, DType dtype) {
  Dice dice(seed);
  Shape shape{.dtype = dtype, .seed = seed};
  shape.mask = dice.one_of(kMasks);
  shape.layout = dice.one_of(kLayouts);
  shape.spread = dice.one_of({1.0F, 1.0F, 0.1F, 4.0F, 30.0F});
  shape.threads = static_cast<int>(dice.one_of({1, 2, 3, 8, 64}));
  if (dice.between(0, 3) == 0) shape.scale = dice.one_of({1.0F, -0.3F, 0.01F, 0.0F});
  shape.head_dim = dice.one_of({0, 32, 64, 64, 80, 128, 128, 256});
  if (shape.head_dim == 0) shape.head_dim = dice.between(1, 256);
  shape.batch = dice.one_of({1, 1, 1, 2, 3});
  shape.kv_heads = dice.one_of({1, 1, 2, 3});
  shape.q_heads = shape.kv_heads * dice.one_of({1, 1, 2, 4, 5, 8});
  shape.q_rows = dice.length(700);
  shape.kv_rows = dice.length(700);
  // Sizes shrink until the oracle takes about ten milliseconds.
  while (shape.batch * shape.q_heads * shape.q_rows * shape.kv_rows * shape.head_dim > 2'000'000) {
    if (shape.batch > 1) {
      shape.batch = 1;
    } else if (shape.kv_heads > 1) {
      shape.q_heads /= shape.kv_heads;
      shape.kv_heads = 1;
    } else {
      (shape.q_rows > shape.kv_rows ? shape.q_rows : shape.kv_rows) /= 2;
    }
  }
  shape.window = dice.window(shape.kv_rows);
  shape.hidden = dice.hidden();
  return shape;
}

class BackwardSweepOfType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, BackwardSweepOfType, testing::ValuesIn(kDTypes),
                         [](const auto& type) { return name_of(type.param); });

TEST_P(BackwardSweepOfType, RandomShapesAgreeWithTheOracle) {
  const bool one_seed = std::getenv("FLASHMOE_SEED") != nullptr;
  const uint64_t first = number_from("FLASHMOE_SEED", 1);
  const uint64_t count = one_seed ? 1 : number_from("FLASHMOE_SWEEP", 250);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Shape shape = shape_of(seed, GetParam());
    const BackwardProblem problem(shape, seed % 2 == 0);
    run_backward(problem, cpu::choose_backward_kernel(problem.forward.problem), shape.threads);
    EXPECT_EQ(problem.disagreement(), "") << describe(shape) << "\nto run it alone: FLASHMOE_SEED=" << seed;
  }
}

}  // namespace
}  // namespace flashmoe::test::backward_sweep_test
