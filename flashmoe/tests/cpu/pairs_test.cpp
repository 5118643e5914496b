// SPDX-License-Identifier: MIT
// A tensor with a value for every query row and key: bool or added, shared along any dimension.
//   FLASHMOE_SWEEP=100   so many seeds per dtype instead of 60
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "api/refusal.h"
#include "cpu/backward_run.h"
#include "support/backward_call.h"
#include "support/spans.h"

namespace flashmoe::test::pairs_test {
namespace {

constexpr PairType kPairTypes[] = {PairType::fp32, PairType::fp16, PairType::bf16, PairType::boolean};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class PairsOfType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, PairsOfType, testing::ValuesIn(kDTypes),
                         [](const auto& type) { return name_of(type.param); });

void expect_agreement(const Shape& shape) {
  Problem forward(shape);
  forward.run();
  EXPECT_AGREES_WITH_ORACLE(forward, shape);
  const BackwardProblem backward(shape);
  run_backward(arguments_of(backward));
  EXPECT_EQ(backward.disagreement(), "") << describe(shape);
}

// Every type beside every type of q, whatever is shared.
TEST_P(PairsOfType, AreSharedAlongAnyDimension) {
  for (const PairType type : kPairTypes) {
    for (int shared = 0; shared < 16; ++shared) {
      Shape shape{.batch = 2,
                  .q_heads = 4,
                  .kv_heads = 2,
                  .q_rows = 37,
                  .kv_rows = 45,
                  .head_dim = 16,
                  .dtype = GetParam()};
      shape.pairs = type;
      for (std::size_t i = 0; i < 4; ++i) shape.pairs_shared[i] = (shared >> i & 1) != 0;
      expect_agreement(shape);
    }
  }
}

TEST_P(PairsOfType, TakeEveryNumberOfKeys) {
  for (int64_t keys : {1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 70, 361}) {
    Shape shape{
        .q_rows = 20, .kv_rows = keys, .head_dim = 24, .dtype = GetParam(), .layout = Layout::broadcast};
    shape.pairs = keys % 2 == 0 ? PairType::boolean : PairType::fp32;
    expect_agreement(shape);
  }
}

// What each row adds up to then: a bool tensor of a causal mask is the causal mask, bit for bit.
TEST_P(PairsOfType, AnAllTrueTensorChangesNothing) {
  Shape shape{
      .q_heads = 2, .q_rows = 70, .kv_rows = 90, .dtype = GetParam(), .mask = Mask::causal, .threads = 2};
  shape.softcap = 1e6F;  // the same kernel without a tensor
  Problem expected(shape);
  expected.run();
  shape.pairs = PairType::boolean;
  Problem problem(shape);
  std::vector<unsigned char> ones(70 * 90, 1);
  problem.args.scores.attn_mask = {.data = ones.data(), .type = PairType::boolean, .strides = {0, 0, 90, 1}};
  problem.run();
  EXPECT_EQ(problem.output_bytes(), expected.output_bytes());
}

TEST_P(PairsOfType, ACausalMaskInOtherWordsIsTheSame) {
  const Shape plain{.q_heads = 2, .q_rows = 70, .kv_rows = 90, .dtype = GetParam()};
  std::vector<unsigned char> seen;
  std::vector<float> added;
  for (int64_t i = 0; i < 70; ++i) {
    for (int64_t j = 0; j < 90; ++j) {
      seen.push_back(j <= i + 20 ? 1 : 0);
      added.push_back(j <= i + 20 ? 0 : -kInfinity);
    }
  }
  Shape causal = plain;
  causal.mask = Mask::causal;
  const reference::ForwardResult expected = Problem(causal).oracle();
  for (const auto& [data, type] :
       {std::pair<const void*, PairType>{seen.data(), PairType::boolean}, {added.data(), PairType::fp32}}) {
    Problem problem(plain);
    problem.args.scores.attn_mask = {.data = data, .type = type, .strides = {0, 0, 90, 1}};
    problem.run();
    EXPECT_EQ(problem.disagreement(expected), "");
  }
}

// As libraries say "hidden" that have no -inf: a row of nothing else is the mean of V.
TEST_P(PairsOfType, TheLowestNumberIsANumber) {
  const Shape shape{.q_rows = 3, .kv_rows = 50, .dtype = GetParam()};
  Problem problem(shape);
  std::vector<float> lowest(50, std::numeric_limits<float>::lowest());
  problem.args.scores.attn_mask = {.data = lowest.data(), .type = PairType::fp32, .strides = {0, 0, 0, 1}};
  problem.run();
  for (int64_t row = 0; row < 3; ++row) {
    double mean = 0;
    for (int64_t key = 0; key < 50; ++key) mean += Problem::get(problem.args.v, 0, 0, key, 5) / 50;
    EXPECT_NEAR(problem.out(0, 0, row, 5), mean, 0.02);
  }
}

TEST_P(PairsOfType, RowsThatATensorHidesAllOfAreZero) {
  Shape shape{.q_rows = 5, .kv_rows = 40, .dtype = GetParam()};
  Problem problem(shape);
  std::vector<unsigned char> seen(5 * 40, 1);
  std::fill_n(seen.begin() + 40, 40, 0);
  problem.args.scores.attn_mask = {.data = seen.data(), .type = PairType::boolean, .strides = {0, 0, 40, 1}};
  problem.run();
  EXPECT_EQ(problem.out(0, 0, 1, 0), 0.0F);
  EXPECT_EQ(problem.lse(0, 0, 1), -kInfinity);
  EXPECT_EQ(problem.disagreement(), "");
}

TEST_P(PairsOfType, RandomOnesAgreeWithTheOracleBesideAllElse) {
  const uint64_t count = number_from("FLASHMOE_SWEEP", 60);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    Dice dice(seed);
    Shape shape{.dtype = GetParam(), .seed = seed};
    shape.mask = dice.one_of(kMasks);
    shape.layout = dice.one_of(kLayouts);
    shape.head_dim = dice.one_of({8, 40, 64});
    shape.batch = dice.one_of({1, 2});
    shape.kv_heads = dice.one_of({1, 2});
    shape.q_heads = shape.kv_heads * dice.one_of({1, 3});
    shape.kv_rows = dice.length(200);
    shape.q_rows = dice.length(150);
    shape.threads = static_cast<int>(dice.one_of({1, 3, 8}));
    shape.window = dice.window(shape.kv_rows);
    shape.pairs = dice.one_of(kPairTypes);
    for (bool& shared : shape.pairs_shared) shared = dice.between(0, 2) == 0;
    if (dice.between(0, 2) == 0) throw_spans(dice, shape);
    if (dice.between(0, 2) == 0) shape.softcap = 5;
    expect_agreement(shape);
  }
}

// Packed, and padded; sequences that share elements, or have their own.
TEST_P(PairsOfType, HaveGradientsBesideLengths) {
  for (int shared = 0; shared < 16; ++shared) {
    Shape shape{.batch = 3,
                .q_heads = 4,
                .kv_heads = 2,
                .q_rows = 37,
                .kv_rows = 45,
                .head_dim = 16,
                .dtype = GetParam(),
                .mask = shared % 2 == 0 ? Mask::none : Mask::causal,
                .threads = 3};
    shape.pairs = PairType::fp32;
    for (std::size_t i = 0; i < 4; ++i) shape.pairs_shared[i] = (shared >> i & 1) != 0;
    Shape padded = shape;
    padded.q_used = {37, 0, 11};
    padded.k_used = {45, 9, 20};
    expect_agreement(padded);
    shape.q_starts = {0, 10, 10, 35};
    shape.k_starts = {0, 20, 25, 45};
    expect_agreement(shape);
  }
}

// Many keys, so that those of a head are split where threads would idle otherwise.
TEST_P(PairsOfType, HaveTheSameGradientEveryTimeWhateverIsShared) {
  for (int shared = 0; shared < 16; ++shared) {
    Shape shape{.batch = 2,
                .q_heads = 2,
                .kv_heads = 2,
                .q_rows = 40,
                .kv_rows = 600,
                .head_dim = 16,
                .dtype = GetParam(),
                .threads = 8};
    shape.pairs = PairType::bf16;
    for (std::size_t i = 0; i < 4; ++i) shape.pairs_shared[i] = (shared >> i & 1) != 0;
    BackwardProblem problem(shape);
    const BackwardArgs args = arguments_of(problem);
    run_backward(args);
    EXPECT_EQ(problem.disagreement(), "") << describe(shape);
    std::size_t elements = 1;
    const std::size_t sizes[] = {2, 2, 40, 600};
    for (std::size_t i = 0; i < 4; ++i) elements *= shape.pairs_shared[i] ? 1 : sizes[i];
    const std::vector<float> first(args.dattn_mask.data, args.dattn_mask.data + elements);
    problem.poison_gradients();
    run_backward(args);
    EXPECT_EQ(std::vector<float>(args.dattn_mask.data, args.dattn_mask.data + elements), first);
  }
}

// Of each kernel that takes the problem.
TEST_P(PairsOfType, HaveGradientsByEveryKernel) {
  Shape shape{.batch = 2,
              .q_heads = 4,
              .kv_heads = 2,
              .q_rows = 70,
              .kv_rows = 90,
              .head_dim = 40,
              .dtype = GetParam(),
              .mask = Mask::causal};
  shape.softcap = 3;
  shape.pairs = PairType::fp32;
  shape.pairs_shared = {true, false, false, false};
  BackwardProblem problem(shape);
  const BackwardArgs args = arguments_of(problem);
  for (const cpu::BackwardKernel* kernel : kernels_for(problem)) {
    problem.poison_gradients();
    std::fill_n(args.dattn_mask.data, 4 * 70 * 90, 0.0F);
    run_backward(problem,
                 cpu::make_plan(problem.forward.problem, *kernel, 2, cpu::PairTurns::of(args.dattn_mask)));
    EXPECT_EQ(problem.disagreement(), "") << kernel->name;
  }
}

// Rows that see nothing, and pairs that are hidden, have a gradient of exactly 0.
TEST_P(PairsOfType, WhatIsHiddenHasNoGradient) {
  Shape shape{.q_heads = 2, .q_rows = 30, .kv_rows = 40, .dtype = GetParam(), .mask = Mask::causal};
  shape.pairs = PairType::fp32;
  BackwardProblem problem(shape);
  const BackwardArgs args = arguments_of(problem);
  run_backward(args);
  const auto* added = static_cast<const float*>(args.scores.attn_mask.data);
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t i = 0; i < 30; ++i) {
      for (int64_t j = 0; j < 40; ++j) {
        const int64_t at = (h * 30 + i) * 40 + j;
        if (added[at] != -kInfinity && j <= i + 10) continue;
        EXPECT_EQ(args.dattn_mask.data[at], 0.0F) << h << " " << i << " " << j;
      }
    }
  }
}

TEST(PairsChecks, ExplainSaysThatHeadsTakeTurns) {
  Shape shape{.batch = 2, .q_heads = 2, .kv_heads = 2, .q_rows = 30, .kv_rows = 40};
  shape.pairs = PairType::fp32;
  shape.pairs_shared = {true, true, false, false};
  const BackwardProblem problem(shape);
  EXPECT_NE(explain_backward(arguments_of(problem)).find("take turns, in 1 group"), std::string::npos);
}

TEST(PairsChecks, GradientsThatCanNotBeRightAreRefused) {
  Shape shape{.q_rows = 4, .kv_rows = 6};
  shape.pairs = PairType::fp32;
  const BackwardProblem problem(shape);
  const BackwardArgs right = arguments_of(problem);
  const auto refusal = [&](auto change) {
    BackwardArgs args = right;
    change(args);
    return refusal_of([&] { run_backward(args); });
  };
  const auto expect = [&](auto change, const char* says) {
    expect_says(refusal(change), ErrorCode::invalid_argument, {says}, says);
  };
  expect([](BackwardArgs& a) { a.scores.attn_mask = {}; },
         "dattn_mask is given and scores.attn_mask is null");
  expect([](BackwardArgs& a) { a.scores.attn_mask.type = PairType::boolean; },
         "scores.attn_mask is boolean, which has no gradient");
  expect([](BackwardArgs& a) { a.dattn_mask.strides[3] = 2; },
         "dattn_mask has a stride of 2 in dimension 3; it must be 0 or 1");
  expect([](BackwardArgs& a) { a.dattn_mask.strides[0] = -1; }, "dattn_mask has a stride of -1");
  expect([](BackwardArgs& a) { a.dattn_mask.strides[2] = 3; }, "dattn_mask overlaps itself");
  expect([](BackwardArgs& a) { a.dattn_mask.strides[2] = int64_t{1} << 62; },
         "dattn_mask with strides [24, 24, 4611686018427387904, 1] spans more memory");
  expect([](BackwardArgs& a) { a.dattn_mask.data = static_cast<float*>(a.dq.data); },
         "dattn_mask overlaps dq in memory");
  // lse is the shorter one: from where it lies, dattn_mask would reach whatever else lies behind it.
  expect([](BackwardArgs& a) { a.lse = a.dattn_mask.data; }, "dattn_mask overlaps lse in memory");
  expect(
      [](BackwardArgs& a) {
        a.dattn_mask.data = reinterpret_cast<float*>(reinterpret_cast<std::byte*>(a.dattn_mask.data) + 2);
      },
      "dattn_mask starts 2 bytes past a multiple of 4");
  expect(
      [](BackwardArgs& a) {
        a.scores.attn_mask.data = static_cast<const std::byte*>(a.scores.attn_mask.data) + 1;
      },
      "scores.attn_mask starts 1 bytes past a multiple of 4");
}

// A gradient without elements, and one of sums over nothing.
TEST(PairsChecks, SizesOfZeroHaveGradientsOfZero) {
  Shape shape{.q_heads = 2, .q_rows = 3, .kv_rows = 0};
  shape.pairs = PairType::fp32;
  shape.pairs_shared = {true, false, false, true};
  const BackwardProblem problem(shape);
  const BackwardArgs args = arguments_of(problem);
  attention_backward(args, {});
  for (int i = 0; i < 6; ++i) EXPECT_EQ(args.dattn_mask.data[i], 0.0F);
}

TEST(PairsChecks, TypesThatThereAreNotAreRefused) {
  Problem problem({.q_rows = 4, .kv_rows = 4});
  problem.args.scores.attn_mask = {.data = problem.args.q.data, .type = static_cast<PairType>(7)};
  expect_says(refusal_of([&] { problem.run(); }), ErrorCode::invalid_argument, {"attn_mask has type 7"},
              "type");
}

}  // namespace
}  // namespace flashmoe::test::pairs_test
