// SPDX-License-Identifier: MIT
// A seeded random sweep over shapes, layouts, masks, windows, scales and thread counts. Each seed is one
// problem.
//   FLASHMOE_SWEEP=100   so many seeds per dtype instead of 200
//   FLASHMOE_SEED=1234   that seed alone
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "support/dice.h"
#include "support/problem.h"

namespace flashmoe::test::forward_sweep_test {
namespace {

Shape shape_of(uint64_t seed, DType dtype) {
  Dice dice(seed);
  Shape shape{.dtype = dtype, .seed = seed};
  shape.mask = dice.one_of(kMasks);
  shape.layout = dice.one_of(kLayouts);
  shape.spread = dice.one_of({1.0F, 1.0F, 0.1F, 4.0F, 30.0F, 100.0F, 1000.0F, 1e18F});
  if (dtype == DType::fp16) shape.spread = std::min(shape.spread, 1000.0F);  // it ends at 65504
  shape.threads = static_cast<int>(dice.one_of({0, 1, 2, 3, 8}));
  if (dice.between(0, 3) == 0) shape.scale = dice.one_of({1.0F, -0.3F, 0.01F, 0.0F});
  shape.head_dim = dice.one_of({0, 32, 64, 64, 80, 128, 128, 256});
  if (shape.head_dim == 0) shape.head_dim = dice.between(1, 256);
  shape.batch = dice.one_of({1, 1, 1, 2, 3});
  shape.kv_heads = dice.one_of({1, 1, 2, 3});
  shape.q_heads = shape.kv_heads * dice.one_of({1, 1, 2, 4, 5, 8});
  // A third are decode steps: few queries, many keys. Sizes shrink until the oracle takes about ten
  // milliseconds.
  const bool decode = dice.between(0, 2) == 0;
  shape.q_rows = decode ? dice.between(1, 4) : dice.length(1200);
  shape.kv_rows = dice.length(decode ? 6000 : 1200);
  const auto work = [&] {
    return shape.batch * shape.q_heads * shape.q_rows * shape.kv_rows * shape.head_dim;
  };
  while (work() > 6'000'000) {
    if (shape.batch > 1) {
      shape.batch = 1;
    } else if (shape.q_heads > shape.kv_heads * 4 || shape.kv_heads > 1) {
      shape.q_heads /= shape.kv_heads;
      shape.kv_heads = 1;
      if (shape.q_heads > 4) shape.q_heads = 3;
    } else {
      (shape.q_rows > shape.kv_rows ? shape.q_rows : shape.kv_rows) /= 2;
    }
  }
  shape.window = dice.window(shape.kv_rows);
  shape.hidden = dice.hidden();
  return shape;
}

class SweepOfType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, SweepOfType, testing::ValuesIn(kDTypes),
                         [](const auto& type) { return name_of(type.param); });

TEST_P(SweepOfType, RandomShapesAgreeWithTheOracle) {
  const bool one_seed = std::getenv("FLASHMOE_SEED") != nullptr;
  const uint64_t first = number_from("FLASHMOE_SEED", 1);
  const uint64_t count = one_seed ? 1 : number_from("FLASHMOE_SWEEP", 200);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Shape shape = shape_of(seed, GetParam());
    Problem problem(shape);
    problem.run();
    EXPECT_AGREES_WITH_ORACLE(problem, shape) << "\nto run it alone: FLASHMOE_SEED=" << seed;
  }
}

}  // namespace
}  // namespace flashmoe::test::forward_sweep_test
