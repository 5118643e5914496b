// SPDX-License-Identifier: MIT
// hopper_forward where rows see runs of keys that begin anywhere: every form, on the model.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "kernels/hopper_forward/spec.h"
#include "kernels/on_model.h"

namespace flashmoe::test::hopper_window_test {
namespace {

namespace hopper = kernels::hopper_forward;

constexpr int64_t kAll = Window::kUnlimited;
constexpr dispatch::ForwardChoice kHopper{.kernel = dispatch::ForwardKernel::hopper_forward};

dispatch::ForwardChoice with(int tuning) {
  return {.kernel = dispatch::ForwardKernel::hopper_forward, .tuning = tuning};
}

class HopperWindow : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!hopper::kTunings[GetParam()].runs) GTEST_SKIP() << "has no form for runs";
  }
  int64_t head_dim() const { return hopper::kTunings[GetParam()].head_dim; }
  int64_t tile_q() const { return hopper::kTunings[GetParam()].tile_q(); }
  int64_t tile_kv() const { return hopper::kTunings[GetParam()].tile_kv; }
};

// Masked blocks, full ones and masked ones again; a run within one block; each side alone.
TEST_P(HopperWindow, LimitsEitherSideAndBoth) {
  for (const Window window :
       {Window{2 * tile_kv() + 7, 20}, Window{5, 3}, Window{70, kAll}, Window{kAll, 9}}) {
    EXPECT_RUNS_ON_MODEL({.q_rows = tile_q() + 30,
                          .kv_rows = 4 * tile_kv() + 11,
                          .head_dim = head_dim(),
                          .dtype = window.left == 70 ? DType::bf16 : DType::fp16,
                          .window = window},
                         with(GetParam()), 1);
  }
}

TEST_P(HopperWindow, StandsBesideACausalMask) {
  for (const Mask mask : {Mask::causal, Mask::causal_top_left}) {
    EXPECT_RUNS_ON_MODEL({.q_heads = 2,
                          .kv_heads = 1,
                          .q_rows = 150,
                          .kv_rows = 330,
                          .head_dim = head_dim(),
                          .dtype = DType::bf16,
                          .mask = mask,
                          .window = {64, kAll}},
                         with(GetParam()), 2);
  }
}

// Positions past the last key, and before the first.
TEST_P(HopperWindow, RowsThatSeeNothingAreZero) {
  EXPECT_RUNS_ON_MODEL({.q_rows = tile_q() + 190,
                        .kv_rows = tile_kv(),
                        .head_dim = head_dim(),
                        .dtype = DType::fp16,
                        .mask = Mask::causal_top_left,
                        .window = {30, kAll}},
                       with(GetParam()), 1);
  EXPECT_RUNS_ON_MODEL({.q_rows = tile_q() + 190,
                        .kv_rows = 40,
                        .head_dim = head_dim(),
                        .dtype = DType::bf16,
                        .window = {3, 6}},
                       with(GetParam()), 1);
}

TEST_P(HopperWindow, PacksGroupsOfQueryHeads) {
  const Shape shape{.batch = 2,
                    .q_heads = 16,
                    .kv_heads = 2,
                    .q_rows = 20,
                    .kv_rows = 350,
                    .head_dim = head_dim(),
                    .dtype = DType::bf16,
                    .mask = Mask::causal,
                    .window = {140, kAll}};
  Problem problem(shape);
  EXPECT_EQ(run_on_model(problem, {.choice = with(GetParam())}).pack, 8);
  EXPECT_AGREES_WITH_ORACLE(problem, shape);
}

INSTANTIATE_TEST_SUITE_P(Tuning, HopperWindow, testing::Range(0, hopper::kNumTunings));

// One block has all tiles: what ends one and begins the next differs, and so do the blocks that they walk
// over.
TEST(HopperWindowShapes, GoesFromTileToTile) {
  for (const int64_t head_dim : {64, 128}) {
    const Shape shape{.batch = 2,
                      .q_heads = 3,
                      .kv_heads = 1,
                      .q_rows = 500,
                      .kv_rows = 700,
                      .head_dim = head_dim,
                      .dtype = DType::bf16,
                      .window = {200, 150}};
    for (const uint64_t seed : {0, 1}) {
      Problem problem(shape);
      const auto time = seed == 1 ? model::CopyTime::early : model::CopyTime::late;
      const int tuning = head_dim == 64 ? 0 : 4;
      ASSERT_EQ(hopper::kTunings[tuning].head_dim, head_dim);
      run_on_model(
          problem,
          {.choice = with(tuning), .settings = {.seed = seed, .copies = time, .stores = time}, .sms = 1});
      EXPECT_AGREES_WITH_ORACLE(problem, shape);
    }
  }
}

// A window that begins in the last of several splits' keys, and one that all share.
TEST(HopperWindowShapes, SharesOutTheKeysOfTheWindow) {
  for (const int64_t left : {100, 700}) {
    EXPECT_RUNS_ON_MODEL({.q_heads = 4,
                          .kv_heads = 1,
                          .q_rows = 1,
                          .kv_rows = 1000,
                          .dtype = DType::bf16,
                          .window = {left, 0}},
                         {.kernel = dispatch::ForwardKernel::hopper_forward, .num_splits = 3}, 1);
  }
}

// Blocks of keys before the window are not read.
TEST(HopperWindowShapes, WhatLiesBeforeTheWindowMayBeAnything) {
  const Shape shape{.q_rows = 1, .kv_rows = 4000, .head_dim = 128, .dtype = DType::bf16, .window = {99, 0}};
  Problem problem(shape);
  for (int64_t key = 0; key < 3900 / 128 * 128; ++key) {
    Problem::set_row(problem.args.k, 0, 0, key, std::numeric_limits<float>::quiet_NaN());
    Problem::set_row(problem.args.v, 0, 0, key, std::numeric_limits<float>::quiet_NaN());
  }
  run_on_model(problem, {.choice = kHopper});
  EXPECT_AGREES_WITH_ORACLE(problem, shape);
  EXPECT_FALSE(std::isnan(problem.out(0, 0, 0, 0)));
}

// Exactly as many keys as a model's sliding_window says, counted by values that are one key's alone.
TEST(HopperWindowShapes, AWindowOfWKeysShowsEachRowW) {
  constexpr int64_t kKeys = 128, kWindow = 17;
  const Shape shape{.q_rows = kKeys,
                    .kv_rows = kKeys,
                    .head_dim = kKeys,
                    .dtype = DType::bf16,
                    .mask = Mask::causal,
                    .window = {kWindow - 1, 0}};
  Problem problem(shape);
  for (int64_t key = 0; key < kKeys; ++key)
    for (int64_t d = 0; d < kKeys; ++d) Problem::set(problem.args.v, 0, 0, key, d, d == key ? 1.0F : 0.0F);
  run_on_model(problem, {.choice = kHopper});
  for (int64_t row = 0; row < kKeys; ++row) {
    std::set<int64_t> seen, expected;
    for (int64_t key = 0; key < kKeys; ++key)
      if (problem.out(0, 0, row, key) != 0) seen.insert(key);
    for (int64_t key = std::max<int64_t>(0, row - kWindow + 1); key <= row; ++key) expected.insert(key);
    ASSERT_EQ(seen, expected) << "row " << row;
  }
}

// More rows than keys, and sides that reach beyond them.
TEST(HopperWindowShapes, TakesSidesBeyondTheKeys) {
  for (const Window window : {Window{32, 64}, Window{0, int64_t{1} << 30}, Window{int64_t{1} << 40, 3}}) {
    EXPECT_RUNS_ON_MODEL({.q_rows = 129, .kv_rows = 33, .dtype = DType::fp16, .window = window}, kHopper, 1);
  }
}

// Not causal, fewer rows than keys: rows at the edges of every tile.
TEST(HopperWindowShapes, TakesALeftSideAloneWithFewerRowsThanKeys) {
  EXPECT_RUNS_ON_MODEL(
      {.q_rows = 300, .kv_rows = 4096, .head_dim = 64, .dtype = DType::bf16, .window = {333, kAll}}, kHopper,
      1);
}

// A window that hides nothing more is the plain kernel's problem; one that comes to the same keys in runs of
// its own agrees with it within the bounds of either.
TEST(HopperWindowShapes, WhatComesToACausalMaskIsOne) {
  const Shape causal{.q_rows = 200, .kv_rows = 200, .dtype = DType::bf16, .mask = Mask::causal};
  Problem plain(causal);
  run_on_model(plain, {.choice = kHopper});
  for (const Window window : {Window{200, 0}, Window{199, 0}, Window{kAll, 0}}) {
    Shape shape = causal;
    shape.window = window;
    Problem same(shape);
    EXPECT_FALSE(same.problem.window.limits());
    run_on_model(same, {.choice = kHopper});
    EXPECT_EQ(same.output_bytes(), plain.output_bytes()) << describe(shape);

    Problem runs(shape);
    runs.problem = {.batch = 1,
                    .q_heads = 1,
                    .kv_heads = 1,
                    .q_rows = 200,
                    .kv_rows = 200,
                    .head_dim = 64,
                    .dtype = DType::bf16,
                    .scale = same.problem.scale,
                    .window = window};  // as asked for, not simplified
    run_on_model(runs, {.choice = kHopper});
    EXPECT_AGREES_WITH_ORACLE(runs, causal);
  }
}

TEST(HopperWindowShapes, TakesHeadDimsBetweenFormsAndLayouts) {
  for (const int64_t head_dim : {8, 72, 136, 200}) {
    EXPECT_RUNS_ON_MODEL({.batch = 2,
                          .q_heads = 6,
                          .kv_heads = 3,
                          .q_rows = 70,
                          .kv_rows = 200,
                          .head_dim = head_dim,
                          .dtype = DType::fp16,
                          .mask = Mask::causal,
                          .window = {33, kAll},
                          .layout = head_dim == 72 ? Layout::bshd : Layout::bhsd},
                         kHopper, 1);
  }
}

// A row's maximum is raised only by keys that it sees.
TEST(HopperWindowShapes, TakesHugeLogits) {
  for (const float spread : {40.0F, 1000.0F}) {
    EXPECT_RUNS_ON_MODEL(
        {.q_rows = 150, .kv_rows = 300, .dtype = DType::bf16, .window = {90, 10}, .spread = spread}, kHopper,
        1);
  }
}

}  // namespace
}  // namespace flashmoe::test::hopper_window_test
