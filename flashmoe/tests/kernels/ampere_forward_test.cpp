// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "kernels/on_model.h"

namespace flashmoe::test::ampere_forward_test {
namespace {

constexpr dispatch::ForwardChoice kAmpere{.kernel = dispatch::ForwardKernel::ampere_forward, .num_splits = 1};

TEST(AmpereForward, TakesEveryCompiledHeadDimTypeAndMask) {
  for (int64_t head_dim : {32, 64, 96, 128, 192, 256}) {
    for (DType dtype : {DType::fp16, DType::bf16}) {
      for (Mask mask : {Mask::none, Mask::causal}) {
        EXPECT_RUNS_ON_MODEL(
            {.q_rows = 100, .kv_rows = 150, .head_dim = head_dim, .dtype = dtype, .mask = mask}, kAmpere);
      }
    }
  }
}

TEST(AmpereForward, TakesOtherHeadDims) {
  for (int64_t head_dim : {1, 2, 7, 8, 9, 40, 72, 100, 136, 250}) {
    // Rows of 7 or 9 elements are not aligned, so those take the path for that.
    EXPECT_RUNS_ON_MODEL(
        {.q_rows = 33, .kv_rows = 70, .head_dim = head_dim, .dtype = DType::fp16, .mask = Mask::causal},
        kAmpere, 1);
  }
}

TEST(AmpereForward, PadsAlignedRowsOfOddHeadDims) {
  // Rows of 8 n + 3 elements plus the layout's gap are not aligned; one row per head and one head are,
  // whatever D is.
  for (int64_t head_dim : {5, 11, 67, 131}) {
    EXPECT_RUNS_ON_MODEL({.q_rows = 1, .kv_rows = 1, .head_dim = head_dim, .dtype = DType::bf16}, kAmpere, 1);
  }
}

TEST(AmpereForward, TakesUnalignedRows) {
  for (int64_t head_dim : {32, 64, 100, 128, 256}) {
    EXPECT_RUNS_ON_MODEL({.q_heads = 2,
                          .kv_heads = 2,
                          .q_rows = 70,
                          .kv_rows = 100,
                          .head_dim = head_dim,
                          .dtype = DType::fp16,
                          .mask = Mask::causal,
                          .layout = Layout::padded},
                         kAmpere);
  }
}

TEST(AmpereForward, TakesSizesAroundATile) {
  for (int64_t rows : {1, 15, 16, 17, 127, 128, 129}) {
    for (int64_t keys : {1, 63, 64, 65, 129}) {
      EXPECT_RUNS_ON_MODEL({.q_rows = rows, .kv_rows = keys, .dtype = DType::fp16, .mask = Mask::causal},
                           kAmpere, 1);
    }
  }
}

TEST(AmpereForward, TakesMoreTilesThanStages) {
  for (int64_t head_dim : {32, 64, 128}) {
    EXPECT_RUNS_ON_MODEL({.q_rows = 40, .kv_rows = 500, .head_dim = head_dim, .dtype = DType::bf16}, kAmpere,
                         4);
  }
}

TEST(AmpereForward, TakesBatchesHeadsAndLayouts) {
  for (Layout layout : {Layout::bhsd, Layout::bshd, Layout::padded}) {
    EXPECT_RUNS_ON_MODEL({.batch = 2,
                          .q_heads = 6,
                          .kv_heads = 3,
                          .q_rows = 150,
                          .kv_rows = 100,
                          .dtype = DType::fp16,
                          .mask = Mask::causal,
                          .layout = layout},
                         kAmpere, 1);
  }
}

TEST(AmpereForward, PacksGroupsOfQueryHeads) {
  for (int64_t rows : {1, 3, 20}) {
    const Shape shape{.batch = 2,
                      .q_heads = 14,
                      .kv_heads = 2,
                      .q_rows = rows,
                      .kv_rows = 90,
                      .dtype = DType::bf16,
                      .mask = Mask::causal};
    Problem problem(shape);
    EXPECT_EQ(run_on_model(problem, {.choice = kAmpere}).pack, 7);
    EXPECT_AGREES_WITH_ORACLE(problem, shape);
  }
}

TEST(AmpereForward, RowsThatSeeNothingAreZero) {
  for (int64_t head_dim : {47, 64, 125, 128}) {  // with and without 16-byte copies, Q in registers or not
    const Shape shape{
        .q_rows = 600, .kv_rows = 40, .head_dim = head_dim, .dtype = DType::fp16, .mask = Mask::causal};
    EXPECT_RUNS_ON_MODEL(shape, kAmpere, 6);
  }
}

TEST(AmpereForward, TakesHugeLogits) {
  EXPECT_RUNS_ON_MODEL({.q_rows = 70, .kv_rows = 200, .dtype = DType::bf16, .spread = 40}, kAmpere, 1);
}

TEST(AmpereForward, SplitsOfTheKeysGiveTheSameResult) {
  for (int splits : {2, 3, 7, 40}) {  // 40: more splits than tiles of keys, so some see nothing
    const dispatch::ForwardChoice choice{.kernel = dispatch::ForwardKernel::ampere_forward,
                                         .num_splits = splits};
    for (int64_t head_dim : {20, 64, 128, 200}) {
      EXPECT_RUNS_ON_MODEL({.batch = 2,
                            .q_heads = 4,
                            .kv_heads = 2,
                            .q_rows = 9,
                            .kv_rows = 330,
                            .head_dim = head_dim,
                            .dtype = DType::fp16,
                            .mask = Mask::causal},
                           choice, 1);
    }
  }
}

// Masked tiles, full ones and masked ones again; a run within one tile; each side alone.
TEST(AmpereForward, TakesWindows) {
  constexpr int64_t kAll = Window::kUnlimited;
  for (const int64_t head_dim : {40, 64, 96, 128, 256}) {
    for (const Window window : {Window{150, 20}, Window{5, 3}, Window{70, kAll}, Window{kAll, 9}}) {
      EXPECT_RUNS_ON_MODEL({.q_rows = 150,
                            .kv_rows = 301,
                            .head_dim = head_dim,
                            .dtype = window.left == 70 ? DType::bf16 : DType::fp16,
                            .window = window},
                           kAmpere, 1);
    }
  }
}

TEST(AmpereForward, WindowsStandBesideMasksGroupsAndSplits) {
  for (const Mask mask : kMasks) {
    for (const int splits : {1, 3}) {
      const Shape shape{.batch = 2,
                        .q_heads = 4,
                        .kv_heads = 1,
                        .q_rows = 40,
                        .kv_rows = 330,
                        .dtype = DType::bf16,
                        .mask = mask,
                        .window = {100, 7}};
      EXPECT_RUNS_ON_MODEL(shape, {.kernel = dispatch::ForwardKernel::ampere_forward, .num_splits = splits},
                           2);
    }
  }
}

// Positions past the last key, and before the first.
TEST(AmpereForward, RowsWhoseWindowIsEmptyAreZero) {
  for (const int64_t head_dim : {64, 128}) {
    EXPECT_RUNS_ON_MODEL({.q_rows = 320,
                          .kv_rows = 64,
                          .head_dim = head_dim,
                          .dtype = DType::fp16,
                          .mask = Mask::causal_top_left,
                          .window = {30, Window::kUnlimited}},
                         kAmpere, 2);
    EXPECT_RUNS_ON_MODEL(
        {.q_rows = 320, .kv_rows = 40, .head_dim = head_dim, .dtype = DType::bf16, .window = {3, 6}}, kAmpere,
        2);
  }
}

TEST(AmpereForward, IsTheSameBitForBitUnderEverySchedule) {
  const Shape shape{.q_rows = 130, .kv_rows = 200, .dtype = DType::bf16, .mask = Mask::causal};
  Problem first(shape);
  run_on_model(first);
  for (uint64_t seed : {1, 2, 3}) {
    Problem again(shape);
    run_on_model(again, {.settings = {.seed = seed}});
    EXPECT_EQ(again.output_bytes(), first.output_bytes());
  }
}

}  // namespace
}  // namespace flashmoe::test::ampere_forward_test
