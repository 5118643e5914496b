// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "kernels/on_model.h"
#include "kernels/small_forward/spec.h"

namespace flashmoe::test::small_forward_test {
namespace {

constexpr dispatch::ForwardChoice kSmall{.kernel = dispatch::ForwardKernel::small_forward};

// Problems that fill a configuration exactly take a form of the kernel without bounds.
TEST(SmallForward, TakesEveryExactLengthAndType) {
  for (const kernels::small::Tuning& tuning : kernels::small::kTunings) {
    for (DType dtype : {DType::fp16, DType::bf16}) {
      EXPECT_RUNS_ON_MODEL({.batch = 2,
                            .q_heads = 3,
                            .kv_heads = 3,
                            .q_rows = 16,
                            .kv_rows = tuning.max_keys(),
                            .head_dim = tuning.head_dim,
                            .dtype = dtype},
                           kSmall, 1);
    }
  }
}

// The same lengths where that form must not be taken: gaps, another order of dimensions, a ragged last tile.
TEST(SmallForward, TakesExactLengthsInEveryLayout) {
  for (Layout layout : {Layout::bhsd, Layout::bshd}) {
    for (int64_t rows : {16, 13}) {
      EXPECT_RUNS_ON_MODEL({.batch = 2,
                            .q_heads = 4,
                            .kv_heads = 4,
                            .q_rows = rows,
                            .kv_rows = 128,
                            .dtype = DType::fp16,
                            .layout = layout},
                           kSmall, 1);
    }
  }
}

TEST(SmallForward, TakesLengthsAroundEachConfiguration) {
  for (int64_t keys : {1, 7, 15, 16, 17, 31, 33, 63, 65, 100, 127, 129, 255, 257, 511}) {
    for (Mask mask : {Mask::none, Mask::causal}) {
      EXPECT_RUNS_ON_MODEL({.q_rows = 19, .kv_rows = keys, .dtype = DType::fp16, .mask = mask}, kSmall, 1);
    }
  }
}

TEST(SmallForward, ComputesTheSameWhenLaunchedProgrammatically) {
  constexpr dispatch::ForwardChoice kProgrammatic{.kernel = dispatch::ForwardKernel::small_forward,
                                                  .programmatic = true};
  for (int64_t keys : {100, 128}) {
    EXPECT_RUNS_ON_MODEL({.q_heads = 2, .kv_heads = 2, .q_rows = 24, .kv_rows = keys, .dtype = DType::fp16},
                         kProgrammatic, 1);
  }
}

TEST(SmallForward, TakesEveryMultipleOfEightAsHeadDim) {
  for (int64_t head_dim = 8; head_dim <= 128; head_dim += 8) {
    EXPECT_RUNS_ON_MODEL(
        {.q_rows = 9, .kv_rows = 70, .head_dim = head_dim, .dtype = DType::bf16, .mask = Mask::causal},
        kSmall, 1);
  }
  EXPECT_RUNS_ON_MODEL({.q_rows = 9, .kv_rows = 256, .head_dim = 128, .dtype = DType::fp16}, kSmall, 1);
}

TEST(SmallForward, GivesZerosToRowsThatSeeNothing) {
  const Shape shape{.q_rows = 40, .kv_rows = 17, .dtype = DType::fp16, .mask = Mask::causal};
  EXPECT_RUNS_ON_MODEL(shape, kSmall);
  Problem problem(shape);
  run_on_model(problem, {.choice = kSmall});
  for (int64_t row = 0; row < 23; ++row) {
    EXPECT_EQ(problem.lse(0, 0, row), -std::numeric_limits<float>::infinity());
    for (int64_t d = 0; d < 64; ++d) EXPECT_EQ(problem.out(0, 0, row, d), 0.0F);
  }
}

TEST(SmallForward, PacksGroupsOfQueryHeadsInEveryLayout) {
  for (int64_t rows : {1, 3, 21}) {
    for (Layout layout : {Layout::bhsd, Layout::bshd}) {
      EXPECT_RUNS_ON_MODEL({.batch = 2,
                            .q_heads = 15,
                            .kv_heads = 3,
                            .q_rows = rows,
                            .kv_rows = 90,
                            .dtype = DType::bf16,
                            .mask = Mask::causal,
                            .layout = layout},
                           kSmall);
    }
  }
}

TEST(SmallForward, TakesHugeLogits) {
  EXPECT_RUNS_ON_MODEL({.q_rows = 20, .kv_rows = 100, .dtype = DType::bf16, .spread = 40}, kSmall, 1);
}

TEST(SmallForward, RunsUnderManySchedules) {
  EXPECT_RUNS_ON_MODEL({.q_rows = 16, .kv_rows = 100, .dtype = DType::fp16, .mask = Mask::causal}, kSmall,
                       40);
}

TEST(SmallForward, IsChosenForTheFirstShapesOfAll) {
  for (int64_t keys : {32, 64, 128, 256, 512}) {
    Problem problem({.q_rows = keys, .kv_rows = keys, .dtype = DType::fp16});
    const auto plan = dispatch::plan_forward(problem.problem, true, device::find("H200"));
    EXPECT_EQ(plan.kernel, dispatch::ForwardKernel::small_forward) << keys;
    EXPECT_EQ(kernels::small::kTunings[plan.tuning].max_keys(), keys);
    EXPECT_LE(plan.smem_bytes, device::find("H200").smem_per_block);
  }
}

TEST(SmallForward, FitsTheSharedMemoryOfAnL4) {
  const auto& l4 = device::find("L4");
  Problem fits({.q_rows = 256, .kv_rows = 256, .dtype = DType::fp16});
  const auto plan = dispatch::plan_forward(fits.problem, true, l4);
  EXPECT_EQ(plan.kernel, dispatch::ForwardKernel::small_forward);
  EXPECT_LE(plan.smem_bytes, l4.smem_per_block);
  Problem too_large({.q_rows = 512, .kv_rows = 512, .dtype = DType::fp16});
  EXPECT_EQ(dispatch::plan_forward(too_large.problem, true, l4).kernel,
            dispatch::ForwardKernel::ampere_forward);
}

}  // namespace
}  // namespace flashmoe::test::small_forward_test
