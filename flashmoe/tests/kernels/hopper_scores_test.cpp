// SPDX-License-Identifier: MIT
// hopper_forward and hopper_backward where scores change, on the model of a GPU.
#include <gtest/gtest.h>

#include <cmath>

#include "dispatch/scores.h"
#include "kernels/backward_on_model.h"
#include "kernels/hopper_forward/spec.h"
#include "kernels/on_model.h"

namespace flashmoe::test::hopper_scores_test {
namespace {

namespace hopper = kernels::hopper_forward;
using kernels::Change;

constexpr dispatch::BackwardChoice kBackward{.kernel = dispatch::BackwardKernel::hopper_backward};

// `plain`, changed so.
Shape with(Change change, Shape plain) {
  switch (change) {
    case Change::softcap:
      plain.softcap = 3;
      break;
    case Change::slopes:
      for (int64_t i = 0; i < plain.q_heads * plain.batch; ++i)
        plain.slopes.push_back(std::exp2(-static_cast<float>(i + 1)));
      break;
    case Change::scaled:
      plain.scale = -0.2F;
      break;
    case Change::bias:  // hopper_bias_test.cpp
    case Change::sinks:
    case Change::none:
      break;
  }
  if (change == Change::sinks || change == Change::softcap)
    for (int64_t h = 0; h < plain.q_heads; ++h) plain.sinks.push_back(static_cast<float>(h) - 1);
  return plain;
}

class HopperScores : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!hopper::takes_changes(tuning())) GTEST_SKIP() << "has no forms that change scores";
  }
  const hopper::Tuning& tuning() const { return hopper::kTunings[GetParam()]; }
  dispatch::ForwardChoice choice() const {
    return {.kernel = dispatch::ForwardKernel::hopper_forward, .tuning = GetParam()};
  }
};

TEST_P(HopperScores, ChangeInEveryFormUnderEveryMask) {
  for (const Change change : {Change::sinks, Change::softcap, Change::slopes, Change::scaled}) {
    for (const Mask mask : kMasks) {
      const Shape shape = with(change, {.batch = 2,
                                        .q_heads = 2,
                                        .kv_heads = 1,
                                        .q_rows = tuning().tile_q() + 30,
                                        .kv_rows = 2 * tuning().tile_kv + 11,
                                        .head_dim = tuning().head_dim,
                                        .dtype = mask == Mask::causal ? DType::fp16 : DType::bf16,
                                        .mask = mask});
      ASSERT_EQ(dispatch::forward_change(Problem(shape).problem), change);
      EXPECT_RUNS_ON_MODEL(shape, choice(), 1);
    }
  }
}

// Heads of one position stand side by side in a tile: each has a slope and a sink of its own. Rows past the
// last key of the window see nothing but the sink.
TEST_P(HopperScores, ArePackedAndWindowed) {
  for (const Change change : {Change::sinks, Change::slopes}) {
    const Shape shape = with(change, {.q_heads = 8,
                                      .kv_heads = 2,
                                      .q_rows = 33,
                                      .kv_rows = 20,
                                      .head_dim = tuning().head_dim - 8,
                                      .dtype = DType::bf16,
                                      .window = {9, 2}});
    Problem problem(shape);
    EXPECT_EQ(run_on_model(problem, {.choice = choice()}).pack, 4);
    EXPECT_AGREES_WITH_ORACLE(problem, shape);
  }
}

INSTANTIATE_TEST_SUITE_P(Tuning, HopperScores, testing::Range(0, hopper::kNumTunings));

// One block has all tiles: what belongs to one must not reach the next.
TEST(HopperScoresShapes, GoFromTileToTile) {
  for (const Change change : {Change::sinks, Change::slopes, Change::softcap}) {
    const Shape shape = with(change, {.batch = 2,
                                      .q_heads = 3,
                                      .kv_heads = 1,
                                      .q_rows = 300,
                                      .kv_rows = 300,
                                      .head_dim = 128,
                                      .dtype = DType::bf16,
                                      .mask = Mask::causal});
    Problem problem(shape);
    run_on_model(problem, {.choice = {.kernel = dispatch::ForwardKernel::hopper_forward}, .sms = 1});
    EXPECT_AGREES_WITH_ORACLE(problem, shape);
  }
}

TEST(HopperScoresShapes, TakeAnyScaleAndCap) {
  for (const float scale : {0.0F, -3.0F, 1e-40F}) {
    EXPECT_RUNS_ON_MODEL(
        {.q_rows = 70, .kv_rows = 90, .dtype = DType::bf16, .mask = Mask::causal, .scale = scale}, {}, 1);
  }
  for (const float cap : {0.5F, 50.0F, 1e4F}) {
    for (const float spread : {1.0F, 20.0F}) {
      Shape shape{.q_rows = 70, .kv_rows = 150, .dtype = DType::fp16, .mask = Mask::causal, .spread = spread};
      shape.softcap = cap;
      EXPECT_RUNS_ON_MODEL(shape, {}, 1);
      EXPECT_GRADIENTS_ON_MODEL(shape, {.seeds = 1, .choice = kBackward});
    }
  }
}

TEST(HopperScoresBackward, ChangeInEveryFormUnderEveryMask) {
  for (const Change change : {Change::softcap, Change::slopes}) {
    for (const int64_t head_dim : {64, 128, 256}) {
      for (const Mask mask : kMasks) {
        const Shape shape = with(change, {.batch = 2,
                                          .q_heads = 2,
                                          .kv_heads = 1,
                                          .q_rows = 200,
                                          .kv_rows = mask == Mask::causal ? 150 : 200,
                                          .head_dim = head_dim,
                                          .dtype = head_dim == 128 ? DType::fp16 : DType::bf16,
                                          .mask = mask});
        EXPECT_GRADIENTS_ON_MODEL(shape, {.deterministic = mask == Mask::causal,
                                          .with_dlse = mask == Mask::none,
                                          .seeds = 1,
                                          .choice = kBackward});
      }
    }
  }
}

TEST(HopperScoresBackward, StandBesideAWindow) {
  for (const Change change : {Change::softcap, Change::slopes}) {
    const Shape shape = with(change, {.q_heads = 2,
                                      .kv_heads = 1,
                                      .q_rows = 300,
                                      .kv_rows = 330,
                                      .head_dim = 64,
                                      .dtype = DType::bf16,
                                      .window = {70, 9}});
    EXPECT_GRADIENTS_ON_MODEL(shape, {.seeds = 1, .choice = kBackward});
  }
}

}  // namespace
}  // namespace flashmoe::test::hopper_scores_test
