// SPDX-License-Identifier: MIT
// Dropout in the scalar kernels: the pairs that the oracle leaves out for the same seed, whatever else
// happens to scores and rows.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/backward_on_model.h"
#include "kernels/on_model.h"
#include "numeric/dropout.h"
#include "support/dice.h"
#include "support/sequences.h"
#include "support/spans.h"

namespace flashmoe::test::naive_dropout_test {
namespace {

constexpr PairType kPairTypes[] = {PairType::fp32, PairType::bf16, PairType::boolean};

class NaiveDropout : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, NaiveDropout, testing::ValuesIn(kDTypes),
                         [](const auto& type) { return name_of(type.param); });

void expect_agreement(const Shape& shape) {
  EXPECT_RUNS_ON_MODEL(shape, {.kernel = dispatch::ForwardKernel::naive}, 1);
  EXPECT_GRADIENTS_ON_MODEL(
      shape, {.with_dlse = true, .seeds = 1, .choice = {.kernel = dispatch::BackwardKernel::naive_backward}});
}

TEST_P(NaiveDropout, TakesEveryHeadDimAndMask) {
  for (const int64_t dim : {8, 100, 256}) {
    for (const Mask mask : kMasks) {
      Shape shape{.q_heads = 2,
                  .q_rows = dim == 8 ? 67 : 9,
                  .kv_rows = mask == Mask::causal ? 70 : 65,
                  .head_dim = dim,
                  .dtype = GetParam(),
                  .mask = mask};
      shape.dropout = {.p = 0.3F, .seed = 0x123456789};
      expect_agreement(shape);
    }
  }
}

TEST_P(NaiveDropout, RandomOnesAgreeWithTheOracleBesideAllElse) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Dice dice(seed);
    Shape shape{.q_heads = 2, .kv_heads = 1, .head_dim = 24, .dtype = GetParam(), .seed = seed};
    shape.dropout = {.p = dice.one_of({0.01F, 0.25F, 0.9F}), .seed = seed << 40 | 7};
    shape.mask = dice.one_of(kMasks);
    shape.layout = dice.one_of(kLayouts);
    shape.batch = dice.one_of({1, 2});
    shape.kv_rows = dice.length(140);
    shape.q_rows = dice.length(40);
    shape.window = dice.window(shape.kv_rows);
    if (dice.between(0, 1) == 0) {
      shape.pairs = dice.one_of(kPairTypes);
      for (bool& shared : shape.pairs_shared) shared = dice.between(0, 2) == 0;
    }
    if (dice.between(0, 1) == 0) throw_spans(dice, shape);
    if (dice.between(0, 1) == 0) shape.softcap = 5;
    if (dice.between(0, 1) == 0) shape.slopes = {0.5F, 0.1F};
    if (dice.between(0, 1) == 0) shape.sinks = {1, -2};
    shape.hidden = dice.hidden_but_finite();
    expect_agreement(shape);
  }
}

TEST_P(NaiveDropout, OfASequenceGoesByItsOwnRowsAndKeys) {
  Shape shape =
      packed({.q_heads = 4, .kv_heads = 2, .head_dim = 40, .dtype = GetParam(), .mask = Mask::causal},
             {9, 1, 0, 5}, {66, 20, 5, 0}, 3);
  shape.sinks = {1, 0, -1, 2};
  shape.dropout = {.p = 0.5F, .seed = 3};
  expect_agreement(shape);
  shape =
      padded({.q_heads = 2, .kv_heads = 1, .q_rows = 20, .kv_rows = 80, .head_dim = 130, .dtype = GetParam()},
             {20, 3, 9}, {17, 80, 70});
  shape.dropout = {.p = 0.2F, .seed = 4};
  expect_agreement(shape);
}

TEST(NaiveDropoutLong, SumsManyKeys) {
  Shape shape{.q_rows = 2, .kv_rows = 16'500, .head_dim = 8};
  shape.dropout = {.p = 0.1F, .seed = 5};
  EXPECT_RUNS_ON_MODEL(shape, {}, 1);
}

TEST(NaiveDropoutExtremes, OfEverythingLeavesNothing) {
  Shape shape{.q_rows = 5, .kv_rows = 70, .head_dim = 8};
  shape.dropout = {.p = 1, .seed = 1};
  expect_agreement(shape);
  Problem problem(shape);
  run_on_model(problem);
  for (int64_t row = 0; row < 5; ++row) EXPECT_EQ(problem.out(0, 0, row, 3), 0.0F);
}

// A gradient that is no number in fp32 takes no part where its pair is left out.
TEST(NaiveDropoutExtremes, WhatIsLeftOutIsNothingWhateverItIs) {
  Shape shape{.q_rows = 1, .kv_rows = 40, .head_dim = 8};
  shape.dropout = {.p = 0.5F, .seed = 11};
  const PairDropout dropout(0.5F, 11);
  int64_t left_out = 0;
  while (dropout.factor(0, 0, left_out) != 0) ++left_out;
  BackwardProblem problem(shape);
  Problem::set(problem.forward.args.v, 0, 0, left_out, 0, 3e38F);
  Problem::set(problem.forward.args.v, 0, 0, left_out, 1, 3e38F);
  Problem::set(problem.dout, 0, 0, 0, 0, 2);
  Problem::set(problem.dout, 0, 0, 0, 1, 2);
  run_backward_on_model(problem, false, {});
  const auto* dq = static_cast<const float*>(problem.dq.data);
  for (int64_t d = 0; d < 8; ++d) EXPECT_TRUE(std::isfinite(dq[d])) << d;
}

}  // namespace
}  // namespace flashmoe::test::naive_dropout_test
