// SPDX-License-Identifier: MIT
// A tensor with a value for every query row and key, in the scalar kernels: bool or added, shared along any
// dimension, and its gradient.
#include <gtest/gtest.h>

#include "kernels/backward_on_model.h"
#include "kernels/on_model.h"
#include "support/dice.h"
#include "support/spans.h"

namespace flashmoe::test::naive_pairs_test {
namespace {

constexpr PairType kPairTypes[] = {PairType::fp32, PairType::fp16, PairType::bf16, PairType::boolean};

class NaivePairs : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, NaivePairs, testing::ValuesIn(kDTypes),
                         [](const auto& type) { return name_of(type.param); });

void expect_agreement(const Shape& shape) {
  EXPECT_RUNS_ON_MODEL(shape, {.kernel = dispatch::ForwardKernel::naive}, 1);
  EXPECT_GRADIENTS_ON_MODEL(shape,
                            {.seeds = 1, .choice = {.kernel = dispatch::BackwardKernel::naive_backward}});
}

TEST_P(NaivePairs, AreSharedAlongAnyDimension) {
  // What shares is the same code for every type: each has a third of the ways.
  for (int shared = static_cast<int>(GetParam()); shared < 16; shared += 3) {
    Shape shape{.batch = 2,
                .q_heads = 2,
                .kv_heads = 1,
                .q_rows = 5,
                .kv_rows = 65,
                .head_dim = 16,
                .dtype = GetParam()};
    shape.pairs = kPairTypes[shared % 4];
    for (std::size_t i = 0; i < 4; ++i) shape.pairs_shared[i] = (shared >> i & 1) != 0;
    expect_agreement(shape);
  }
}

TEST_P(NaivePairs, TakeEveryHeadDimAndNumberOfKeys) {
  for (const int64_t dim : {64, 100, 256}) {
    for (const int64_t keys : {1, 64, 65}) {
      Shape shape{.q_rows = 65, .kv_rows = keys, .head_dim = dim, .dtype = GetParam(), .mask = Mask::causal};
      shape.pairs = keys == 64 ? PairType::boolean : PairType::fp32;
      expect_agreement(shape);
    }
  }
}

TEST_P(NaivePairs, RandomOnesAgreeWithTheOracleBesideAllElse) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Dice dice(seed);
    Shape shape{.q_heads = 2, .kv_heads = 1, .head_dim = 24, .dtype = GetParam(), .seed = seed};
    shape.mask = dice.one_of(kMasks);
    shape.layout = dice.one_of(kLayouts);
    shape.batch = dice.one_of({1, 2});
    shape.kv_rows = dice.length(140);
    shape.q_rows = dice.length(40);
    shape.window = dice.window(shape.kv_rows);
    shape.pairs = dice.one_of(kPairTypes);
    for (bool& shared : shape.pairs_shared) shared = dice.between(0, 2) == 0;
    if (dice.between(0, 1) == 0) throw_spans(dice, shape);
    if (dice.between(0, 1) == 0) shape.softcap = 5;
    if (dice.between(0, 1) == 0) shape.slopes = {0.5F, 0.1F};
    if (dice.between(0, 1) == 0) shape.sinks = {1, -2};
    shape.hidden = dice.hidden_but_finite();
    expect_agreement(shape);
  }
}

TEST(NaivePairsLong, SumManyKeys) {
  Shape shape{.q_rows = 2, .kv_rows = 16'500, .head_dim = 8};
  shape.pairs = PairType::fp32;
  EXPECT_RUNS_ON_MODEL(shape, {}, 1);
}

TEST(NaivePairsExplained, TheScalarKernelsTakeThemInFp32) {
  Shape shape{.q_rows = 128, .kv_rows = 128, .head_dim = 64};
  shape.pairs = PairType::fp32;
  const Problem problem(shape);
  const device::Spec& spec = device::find("H200");
  const auto plan = dispatch::plan_forward(problem.problem, true, spec);
  EXPECT_EQ(plan.kernel, dispatch::ForwardKernel::naive);
  EXPECT_NE(dispatch::explain(plan, problem.problem, spec).find("what a tensor adds"), std::string::npos);
}

}  // namespace
}  // namespace flashmoe::test::naive_pairs_test
