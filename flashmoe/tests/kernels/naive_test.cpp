// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/on_model.h"

namespace flashmoe::test::naive_test {
namespace {

constexpr dispatch::ForwardChoice kNaive{.kernel = dispatch::ForwardKernel::naive};

TEST(Naive, TakesEveryTypeAndMask) {
  for (DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    for (Mask mask : {Mask::none, Mask::causal, Mask::causal_top_left}) {
      EXPECT_RUNS_ON_MODEL(
          {.q_heads = 2, .kv_heads = 1, .q_rows = 37, .kv_rows = 129, .dtype = dtype, .mask = mask}, kNaive);
    }
  }
}

TEST(Naive, TakesEveryHeadDim) {
  for (int64_t head_dim : {1, 3, 31, 32, 33, 64, 65, 128, 129, 200, 256}) {
    EXPECT_RUNS_ON_MODEL({.q_rows = 65, .kv_rows = 70, .head_dim = head_dim, .mask = Mask::causal}, kNaive,
                         1);
  }
}

TEST(Naive, TakesSizesAroundATile) {
  for (int64_t rows : {1, 63, 64, 65}) {
    for (int64_t keys : {1, 63, 64, 65, 128}) {
      EXPECT_RUNS_ON_MODEL({.q_rows = rows, .kv_rows = keys, .head_dim = 40, .mask = Mask::causal}, kNaive,
                           1);
    }
  }
}

TEST(Naive, TakesStridesBatchesAndGroups) {
  for (Layout layout : {Layout::bhsd, Layout::bshd, Layout::padded}) {
    EXPECT_RUNS_ON_MODEL({.batch = 2,
                          .q_heads = 6,
                          .kv_heads = 2,
                          .q_rows = 20,
                          .kv_rows = 70,
                          .head_dim = 24,
                          .dtype = DType::bf16,
                          .mask = Mask::causal,
                          .layout = layout},
                         kNaive);
  }
}

TEST(Naive, TakesNoKeysAtAll) {
  for (Mask mask : {Mask::none, Mask::causal, Mask::causal_top_left}) {
    EXPECT_RUNS_ON_MODEL(
        {.q_heads = 2, .kv_heads = 1, .q_rows = 70, .kv_rows = 0, .dtype = DType::bf16, .mask = mask}, kNaive,
        1);
  }
}

TEST(Naive, TakesHugeLogitsAndAnyScale) {
  EXPECT_RUNS_ON_MODEL({.q_rows = 70, .kv_rows = 70, .spread = 40}, kNaive, 1);
  for (float scale : {-1.0F, 0.0F, 1e-40F}) {
    const Shape shape{.q_rows = 10, .kv_rows = 70, .mask = Mask::causal_top_left};
    Problem problem(shape);
    problem.args.scale = scale;
    problem.problem.scale = scale;
    run_on_model(problem);
    EXPECT_AGREES_WITH_ORACLE(problem, shape);
  }
}

TEST(Naive, TakesWindows) {
  constexpr int64_t kAll = Window::kUnlimited;
  for (const Window window : {Window{0, 0}, Window{70, 9}, Window{5, kAll}, Window{kAll, 3}}) {
    for (const int64_t rows : {1, 130, 300}) {
      EXPECT_RUNS_ON_MODEL({.q_heads = 2,
                            .kv_heads = 1,
                            .q_rows = rows,
                            .kv_rows = 170,
                            .head_dim = 24,
                            .dtype = rows == 130 ? DType::bf16 : DType::fp32,
                            .mask = window.right == kAll ? Mask::causal_top_left : Mask::none,
                            .window = window},
                           kNaive, 1);
    }
  }
}

// More keys than one sum takes, in stretches of which the last is short.
TEST(Naive, SumsManyKeysInStretches) {
  const Shape shape{.q_rows = 2, .kv_rows = 16'500, .head_dim = 8, .dtype = DType::fp32};
  Problem problem(shape);
  run_on_model(problem, {.choice = {.kernel = dispatch::ForwardKernel::naive}});
  EXPECT_AGREES_WITH_ORACLE(problem, shape);
  Shape windowed = shape;
  windowed.window = {9'000, 0};
  Problem part(windowed);
  run_on_model(part, {.choice = kNaive});
  EXPECT_AGREES_WITH_ORACLE(part, windowed);
}

TEST(Naive, ChangesScoresUnderEveryMask) {
  for (const DType dtype : kDTypes) {
    for (const Mask mask : kMasks) {
      if (dtype != DType::fp32 && mask != Mask::causal) continue;  // types differ where elements are read
      Shape shape{.batch = 2,
                  .q_heads = 2,
                  .kv_heads = 1,
                  .q_rows = 70,
                  .kv_rows = mask == Mask::causal ? 40 : 129,
                  .head_dim = 8,
                  .dtype = dtype,
                  .mask = mask};
      shape.softcap = 2;
      EXPECT_RUNS_ON_MODEL(shape, {}, 1);
      shape.slopes = {0.5F, 0.25F, 0.1F, 1.0F};
      shape.sinks = {1, -2};
      EXPECT_RUNS_ON_MODEL(shape, {}, 1);
      shape.softcap = 0;
      shape.sinks.clear();
      EXPECT_RUNS_ON_MODEL(shape, {}, 1);
    }
  }
}

TEST(Naive, TakesSinksOfAnySizeAndRowsWithNothingElse) {
  for (const float sink : {-INFINITY, -1e4F, 100.0F, 1e4F}) {
    for (const int64_t keys : {0, 30}) {
      Shape shape{.q_rows = 40, .kv_rows = keys, .head_dim = 16, .mask = Mask::causal};
      shape.sinks = {sink};
      EXPECT_RUNS_ON_MODEL(shape, kNaive, 1);
    }
  }
}

TEST(Naive, ChangesTheScoresOfManyKeys) {
  Shape shape{.q_rows = 2, .kv_rows = 16'500, .head_dim = 8};
  shape.softcap = 5;
  shape.slopes = {0.001F};
  shape.sinks = {3};
  EXPECT_RUNS_ON_MODEL(shape, kNaive, 1);
}

}  // namespace
}  // namespace flashmoe::test::naive_test
