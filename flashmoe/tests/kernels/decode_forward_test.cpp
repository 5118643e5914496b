// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <limits>

#include "kernels/decode_forward/spec.h"
#include "kernels/on_model.h"

namespace flashmoe::test::decode_forward_test {
namespace {

using kernels::decode::kNumTunings;
using kernels::decode::kTunings;
using kernels::decode::Tuning;

constexpr dispatch::ForwardChoice kDecode{.kernel = dispatch::ForwardKernel::decode_forward};

dispatch::ForwardChoice with_tuning(int tuning, int splits = 1) {
  return {.kernel = dispatch::ForwardKernel::decode_forward, .num_splits = splits, .tuning = tuning};
}

// Keys that fill every warp of a block, or of a cluster, once.
int64_t full_round(const Tuning& t) { return int64_t{t.cluster} * t.warps * t.block_keys; }

class DecodeTuning : public testing::TestWithParam<int> {
 protected:
  const Tuning& tuning() const { return kTunings[GetParam()]; }
};

// Every warp of every block runs every step however few keys there are, so each of these costs the same: few
// cases.
TEST_P(DecodeTuning, TakesItsOwnLength) {
  EXPECT_RUNS_ON_MODEL({.q_heads = 4,
                        .kv_rows = full_round(tuning()),
                        .head_dim = tuning().head_dim,
                        .dtype = GetParam() % 2 ? DType::fp16 : DType::bf16},
                       with_tuning(GetParam()), 1);
}

TEST_P(DecodeTuning, TakesOtherLengths) {
  EXPECT_RUNS_ON_MODEL({.q_heads = 6,
                        .kv_heads = 2,
                        .q_rows = 2,
                        .kv_rows = full_round(tuning()) / 2 + 5,
                        .head_dim = tuning().head_dim - 8,
                        .dtype = GetParam() % 2 ? DType::bf16 : DType::fp16,
                        .mask = Mask::causal},
                       with_tuning(GetParam()), 1);
}

TEST_P(DecodeTuning, RescalesFromBlockToBlock) {
  if (tuning().once) return;  // has just one block of keys per warp
  EXPECT_RUNS_ON_MODEL({.q_heads = 4,
                        .kv_rows = 2 * full_round(tuning()) + 100,
                        .head_dim = tuning().head_dim,
                        .dtype = DType::fp16,
                        .spread = 6},
                       with_tuning(GetParam()), 1);
}

TEST_P(DecodeTuning, SharesKeysOverSplits) {
  EXPECT_RUNS_ON_MODEL({.q_heads = 3,
                        .q_rows = 2,
                        .kv_rows = full_round(tuning()) - 3,
                        .head_dim = tuning().head_dim,
                        .dtype = DType::bf16,
                        .mask = Mask::causal},
                       with_tuning(GetParam(), 3), 1);
}

INSTANTIATE_TEST_SUITE_P(Row, DecodeTuning, testing::Range(0, kNumTunings));

TEST(DecodeForward, TakesEveryLengthAroundAChunk) {
  for (int64_t keys : {1, 2, 15, 16, 17, 31, 32, 33, 511, 513}) {
    EXPECT_RUNS_ON_MODEL({.q_heads = 2, .kv_rows = keys, .dtype = DType::fp16}, kDecode, 1);
  }
}

TEST(DecodeForward, TakesEveryPackingOfEightRows) {
  for (int64_t group = 1; group <= 8; ++group) {
    for (int64_t rows = 1; rows * group <= 8; ++rows) {
      for (Mask mask : {Mask::none, Mask::causal, Mask::causal_top_left}) {
        EXPECT_RUNS_ON_MODEL({.q_heads = 2 * group,
                              .kv_heads = 2,
                              .q_rows = rows,
                              .kv_rows = 70,
                              .dtype = DType::fp16,
                              .mask = mask},
                             kDecode, 1);
      }
    }
  }
}

TEST(DecodeForward, TakesEveryMultipleOfEightAsHeadDim) {
  for (int64_t head_dim = 8; head_dim <= 128; head_dim += 8) {
    for (int splits : {1, 2}) {
      EXPECT_RUNS_ON_MODEL({.q_heads = 2, .kv_rows = 300, .head_dim = head_dim, .dtype = DType::bf16},
                           {.kernel = dispatch::ForwardKernel::decode_forward, .num_splits = splits}, 1);
    }
  }
}

TEST(DecodeForward, TakesEveryLayout) {
  for (Layout layout : {Layout::bhsd, Layout::bshd, Layout::reversed, Layout::broadcast}) {
    EXPECT_RUNS_ON_MODEL({.batch = 3,
                          .q_heads = 8,
                          .kv_heads = 2,
                          .q_rows = 2,
                          .kv_rows = 333,
                          .head_dim = 128,
                          .dtype = DType::bf16,
                          .mask = Mask::causal,
                          .layout = layout},
                         kDecode, 1);
  }
}

TEST(DecodeForward, GivesZerosToRowsThatSeeNothing) {
  const Shape shape{.q_rows = 8, .kv_rows = 3, .dtype = DType::fp16, .mask = Mask::causal};
  for (int splits : {1, 3}) {
    const dispatch::ForwardChoice choice{.kernel = dispatch::ForwardKernel::decode_forward,
                                         .num_splits = splits};
    EXPECT_RUNS_ON_MODEL(shape, choice);
    Problem problem(shape);
    run_on_model(problem, {.choice = choice});
    for (int64_t row = 0; row < 5; ++row) {
      EXPECT_EQ(problem.lse(0, 0, row), -std::numeric_limits<float>::infinity());
      for (int64_t d = 0; d < 64; ++d) EXPECT_EQ(problem.out(0, 0, row, d), 0.0F);
    }
  }
}

TEST(DecodeForward, TakesHugeLogits) {
  EXPECT_RUNS_ON_MODEL({.q_heads = 4, .kv_rows = 700, .head_dim = 128, .dtype = DType::bf16, .spread = 40},
                       kDecode);
}

TEST(DecodeForward, RunsUnderManySchedules) {
  EXPECT_RUNS_ON_MODEL(
      {.q_heads = 4, .q_rows = 2, .kv_rows = 500, .dtype = DType::fp16, .mask = Mask::causal}, kDecode, 20);
}

TEST(DecodeForward, IsTheSameBitForBitUnderEverySchedule) {
  const Shape shape{.q_heads = 4, .kv_rows = 1000, .head_dim = 128, .dtype = DType::bf16};
  Problem first(shape);
  run_on_model(first, {.choice = kDecode});
  for (uint64_t seed : {1, 2, 3}) {
    Problem again(shape);
    run_on_model(again, {.choice = kDecode, .settings = {.seed = seed}});
    EXPECT_EQ(again.output_bytes(), first.output_bytes());
  }
}

TEST(DecodeForward, RunsWithoutClustersWhereThereAreNone) {
  const Shape shape{
      .batch = 2, .q_heads = 8, .kv_heads = 2, .kv_rows = 900, .head_dim = 128, .dtype = DType::bf16};
  Problem problem(shape);
  const auto plan = run_on_model(problem, {.choice = kDecode, .gpu = "L4"});
  EXPECT_EQ(plan.cluster, 1);
  EXPECT_GT(plan.num_splits, 1);
  EXPECT_AGREES_WITH_ORACLE(problem, shape);
}

}  // namespace
}  // namespace flashmoe::test::decode_forward_test
