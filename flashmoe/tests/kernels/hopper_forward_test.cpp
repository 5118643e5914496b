// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "dispatch/run.h"
#include "kernels/hopper_forward/spec.h"
#include "kernels/on_model.h"

namespace flashmoe::test::hopper_forward_test {
namespace {

namespace hopper = kernels::hopper_forward;

dispatch::ForwardChoice with(int tuning) {
  return {.kernel = dispatch::ForwardKernel::hopper_forward, .tuning = tuning};
}

// Rows of out that lie 16-byte aligned in a wider tensor, and end within a piece of 16 bytes: what follows
// them there is somebody else's.
TEST(HopperForwardOut, WhatLiesBetweenRowsStays) {
  for (const int64_t head_dim : {61, 125, 189, 253}) {
    for (const Window window : {Window{}, Window{.left = 40, .right = 3}}) {
      EXPECT_RUNS_ON_MODEL({.q_rows = 221,
                            .kv_rows = 111,
                            .head_dim = head_dim,
                            .dtype = DType::bf16,
                            .window = window,
                            .layout = Layout::padded},
                           {}, 1);
    }
  }
}

class HopperForward : public testing::TestWithParam<int> {
 protected:
  int64_t head_dim() const { return hopper::kTunings[GetParam()].head_dim; }
  int64_t tile_q() const { return hopper::kTunings[GetParam()].tile_q(); }
  int64_t tile_kv() const { return hopper::kTunings[GetParam()].tile_kv; }
};

TEST_P(HopperForward, TakesBothTypesAndAllMasks) {
  for (DType dtype : {DType::fp16, DType::bf16}) {
    for (Mask mask : {Mask::none, Mask::causal, Mask::causal_top_left}) {
      EXPECT_RUNS_ON_MODEL(
          {.q_rows = 150, .kv_rows = 330, .head_dim = head_dim(), .dtype = dtype, .mask = mask},
          with(GetParam()), 2);
    }
  }
}

TEST_P(HopperForward, TakesSizesAroundATile) {
  for (int64_t rows : {int64_t{1}, tile_q() - 1, tile_q(), tile_q() + 1}) {
    for (int64_t keys : {int64_t{1}, tile_kv(), tile_kv() + 1}) {
      EXPECT_RUNS_ON_MODEL({.q_rows = rows,
                            .kv_rows = keys,
                            .head_dim = head_dim(),
                            .dtype = DType::bf16,
                            .mask = Mask::causal},
                           with(GetParam()), 1);
    }
  }
}

TEST_P(HopperForward, TakesMoreBlocksOfKeysThanStages) {
  EXPECT_RUNS_ON_MODEL(
      {.q_rows = 70, .kv_rows = 9 * tile_kv() + 5, .head_dim = head_dim(), .dtype = DType::fp16},
      with(GetParam()), 4);
}

// As on a GPU with fewer SMs than there are tiles. Tiles of one block of keys, of two, of three: what ends
// one tile and begins the next differs.
TEST_P(HopperForward, GoesFromTileToTile) {
  if (hopper::kTunings[GetParam()].blocks_per_sm == 2) GTEST_SKIP() << "has a block for every tile";
  struct Walk {
    int64_t keys;
    unsigned blocks;
  };
  for (const Walk walk : {Walk{tile_kv(), 1}, Walk{2 * tile_kv() - 1, 5}, Walk{3 * tile_kv() + 1, 1}}) {
    const Shape shape{.batch = 2,
                      .q_heads = 3,
                      .kv_heads = 1,
                      .q_rows = tile_q() + 70,
                      .kv_rows = walk.keys,
                      .head_dim = head_dim(),
                      .dtype = DType::bf16,
                      .mask = walk.keys == tile_kv() ? Mask::none : Mask::causal};
    const reference::ForwardResult expected = Problem(shape).oracle();
    for (uint64_t seed : {0, 1}) {
      Problem problem(shape);
      const auto on_few = [&](const dispatch::ForwardPlan& plan, Workspace workspace) {
        dispatch::ForwardPlan fewer = plan;
        fewer.blocks = walk.blocks;
        dispatch::run_forward(fewer, problem.problem, problem.args, workspace);
      };
      const auto time = seed == 1 ? model::CopyTime::early : model::CopyTime::late;
      run_on_model(problem,
                   {.choice = with(GetParam()), .settings = {.seed = seed, .copies = time, .stores = time}},
                   on_few);
      EXPECT_EQ(problem.disagreement(expected), "") << describe(shape);
    }
  }
}

TEST_P(HopperForward, RowsThatSeeNothingAreZero) {
  EXPECT_RUNS_ON_MODEL(
      {.q_rows = 300, .kv_rows = 40, .head_dim = head_dim(), .dtype = DType::fp16, .mask = Mask::causal},
      with(GetParam()), 2);
}

TEST_P(HopperForward, PacksGroupsOfQueryHeads) {
  const Shape shape{.batch = 2,
                    .q_heads = 16,
                    .kv_heads = 2,
                    .q_rows = 20,
                    .kv_rows = 150,
                    .head_dim = head_dim(),
                    .dtype = DType::bf16,
                    .mask = Mask::causal};
  Problem problem(shape);
  EXPECT_EQ(run_on_model(problem, {.choice = with(GetParam())}).pack, 8);
  EXPECT_AGREES_WITH_ORACLE(problem, shape);
}

INSTANTIATE_TEST_SUITE_P(Tuning, HopperForward, testing::Range(0, hopper::kNumTunings));

TEST(HopperForwardShapes, TakesHeadDimsBetweenForms) {
  for (int64_t head_dim : {8, 40, 72, 104, 136, 200}) {
    EXPECT_RUNS_ON_MODEL(
        {.q_rows = 70, .kv_rows = 200, .head_dim = head_dim, .dtype = DType::fp16, .mask = Mask::causal},
        {.kernel = dispatch::ForwardKernel::hopper_forward}, 1);
  }
}

TEST(HopperForwardShapes, TakesLayoutsAndGroups) {
  for (Layout layout : {Layout::bhsd, Layout::bshd}) {
    EXPECT_RUNS_ON_MODEL({.batch = 2,
                          .q_heads = 6,
                          .kv_heads = 3,
                          .q_rows = 150,
                          .kv_rows = 100,
                          .dtype = DType::fp16,
                          .mask = Mask::causal,
                          .layout = layout},
                         {.kernel = dispatch::ForwardKernel::hopper_forward}, 1);
  }
}

// More shares than blocks of keys, shares that a causal tile sees nothing of, and shares of many blocks.
TEST(HopperForwardShapes, SharesOutKeys) {
  for (int64_t head_dim : {64, 88, 128, 184, 256}) {
    EXPECT_RUNS_ON_MODEL({.q_heads = 2,
                          .kv_heads = 1,
                          .q_rows = 70,
                          .kv_rows = 330,
                          .head_dim = head_dim,
                          .dtype = DType::bf16,
                          .mask = Mask::causal},
                         {.kernel = dispatch::ForwardKernel::hopper_forward, .num_splits = 7}, 1);
  }
  EXPECT_RUNS_ON_MODEL({.q_rows = 20, .kv_rows = 1500, .dtype = DType::fp16},
                       {.kernel = dispatch::ForwardKernel::hopper_forward, .num_splits = 2}, 2);
  EXPECT_RUNS_ON_MODEL({.q_rows = 300, .kv_rows = 90, .dtype = DType::fp16, .mask = Mask::causal},
                       {.kernel = dispatch::ForwardKernel::hopper_forward, .num_splits = 3}, 1);
}

TEST(HopperForwardShapes, TakesHugeLogits) {
  EXPECT_RUNS_ON_MODEL({.q_rows = 70, .kv_rows = 300, .dtype = DType::bf16, .spread = 40},
                       {.kernel = dispatch::ForwardKernel::hopper_forward}, 1);
}

}  // namespace
}  // namespace flashmoe::test::hopper_forward_test
