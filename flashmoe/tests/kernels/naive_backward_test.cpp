// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "kernels/backward_on_model.h"
#include "support/spans.h"

namespace flashmoe::test::naive_backward_test {
namespace {

constexpr dispatch::BackwardChoice kNaive{.kernel = dispatch::BackwardKernel::naive_backward};

TEST(NaiveBackward, TakesAllTypesAndMasks) {
  for (DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    for (Mask mask : kMasks) {
      EXPECT_GRADIENTS_ON_MODEL({.batch = 2,
                                 .q_heads = 2,
                                 .kv_heads = 1,
                                 .q_rows = 70,
                                 .kv_rows = 90,
                                 .head_dim = 40,
                                 .dtype = dtype,
                                 .mask = mask},
                                {.with_dlse = mask == Mask::causal, .seeds = 1, .choice = kNaive});
    }
  }
}

TEST(NaiveBackward, TakesOddHeadDimsAndAnyAlignment) {
  for (int64_t head_dim : {1, 33, 100, 255}) {
    EXPECT_GRADIENTS_ON_MODEL({.q_rows = 65,
                               .kv_rows = 63,
                               .head_dim = head_dim,
                               .dtype = DType::bf16,
                               .mask = Mask::causal,
                               .layout = Layout::padded},
                              {.seeds = 1});
  }
}

TEST(NaiveBackward, WhatSeesNothingHasNoGradient) {
  EXPECT_GRADIENTS_ON_MODEL(
      {.q_rows = 150, .kv_rows = 40, .head_dim = 64, .dtype = DType::fp32, .mask = Mask::causal},
      {.seeds = 1});
  EXPECT_GRADIENTS_ON_MODEL(
      {.q_rows = 40, .kv_rows = 150, .head_dim = 64, .dtype = DType::fp32, .mask = Mask::causal_top_left},
      {.seeds = 1});
}

TEST(NaiveBackward, TakesWindows) {
  constexpr int64_t kAll = Window::kUnlimited;
  for (const Window window : {Window{0, 0}, Window{70, 9}, Window{5, kAll}, Window{kAll, 3}}) {
    for (const int64_t rows : {30, 200}) {
      EXPECT_GRADIENTS_ON_MODEL({.q_heads = 2,
                                 .kv_heads = 1,
                                 .q_rows = rows,
                                 .kv_rows = 150,
                                 .head_dim = 20,
                                 .dtype = rows == 30 ? DType::fp32 : DType::bf16,
                                 .mask = window.right == kAll ? Mask::causal_top_left : Mask::none,
                                 .window = window},
                                {.seeds = 1, .choice = kNaive});
    }
  }
}

TEST(NaiveBackward, TakesAnyScaleAndHugeLogits) {
  for (float scale : {0.0F, -0.2F}) {
    EXPECT_GRADIENTS_ON_MODEL(
        {.q_rows = 70, .kv_rows = 65, .head_dim = 16, .dtype = DType::fp32, .scale = scale}, {.seeds = 1});
  }
  EXPECT_GRADIENTS_ON_MODEL({.q_rows = 70, .kv_rows = 65, .head_dim = 16, .dtype = DType::fp32, .spread = 40},
                            {.seeds = 1});
}

TEST(NaiveBackward, GivesTheSameBitsEveryTime) {
  const Shape shape{
      .q_heads = 2, .kv_heads = 2, .q_rows = 100, .kv_rows = 200, .head_dim = 32, .dtype = DType::fp32};
  BackwardProblem problem(shape);
  std::vector<std::byte> first;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    problem.poison_gradients();
    run_backward_on_model(problem, false, {.seed = seed});
    if (seed == 0) first = problem.gradient_bytes();
    EXPECT_EQ(problem.gradient_bytes(), first);
  }
}

TEST(NaiveBackward, ChangesScoresUnderEveryMask) {
  for (const DType dtype : kDTypes) {
    for (const Mask mask : kMasks) {
      if (dtype != DType::fp32 && mask != Mask::causal) continue;  // types differ where elements are read
      Shape shape{.batch = 2,
                  .q_heads = 2,
                  .kv_heads = 1,
                  .q_rows = 70,
                  .kv_rows = mask == Mask::causal ? 40 : 100,
                  .head_dim = 8,
                  .dtype = dtype,
                  .mask = mask};
      shape.softcap = 2;
      EXPECT_GRADIENTS_ON_MODEL(shape, {.seeds = 1});
      shape.slopes = {0.5F, 0.25F, 0.1F, 1.0F};
      shape.sinks = {1, -2};
      EXPECT_GRADIENTS_ON_MODEL(shape, {.with_dlse = true, .seeds = 1});
      shape.softcap = 0;
      EXPECT_GRADIENTS_ON_MODEL(shape, {.seeds = 1});
    }
  }
}

// Sinks alone change nothing but the LSE that gradients begin from: every kernel takes them.
TEST(NaiveBackward, SinksHaveGradientsBehindEveryKernel) {
  for (const auto kernel :
       {dispatch::BackwardKernel::naive_backward, dispatch::BackwardKernel::ampere_backward,
        dispatch::BackwardKernel::hopper_backward}) {
    Shape shape{.batch = 2,
                .q_heads = 2,
                .kv_heads = 1,
                .q_rows = 70,
                .kv_rows = 60,
                .head_dim = 64,
                .dtype = DType::bf16,
                .mask = Mask::causal};
    shape.sinks = {1, -2};
    EXPECT_GRADIENTS_ON_MODEL(shape, {.with_dlse = true, .seeds = 1, .choice = {.kernel = kernel}});
  }
}

TEST(NaiveBackward, TakesSpans) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Dice dice(seed);
    Shape shape{.q_heads = 2, .kv_heads = 1, .head_dim = 24, .seed = seed};
    shape.dtype = dice.one_of(kDTypes);
    shape.mask = dice.one_of(kMasks);
    shape.batch = dice.one_of({1, 2});
    shape.kv_rows = dice.length(160);
    shape.q_rows = dice.between(0, 1) == 0 ? shape.kv_rows : dice.length(160);
    shape.window = dice.window(shape.kv_rows);
    throw_spans(dice, shape);
    EXPECT_GRADIENTS_ON_MODEL(shape,
                              {.seeds = 1, .choice = {.kernel = dispatch::BackwardKernel::naive_backward}});
  }
}

}  // namespace
}  // namespace flashmoe::test::naive_backward_test
