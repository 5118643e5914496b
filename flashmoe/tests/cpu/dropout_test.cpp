// SPDX-License-Identifier: MIT
// Dropout: which weights are left out, and what becomes of outputs and gradients.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <set>
#include <vector>

#include "api/refusal.h"
#include "api/to_c.h"
#include "cpu/backward_run.h"
#include "cpu/forward.h"
#include "cpu/kernels.h"
#include "flashmoe/flashmoe.h"
#include "numeric/dropout.h"
#include "support/problem.h"
#include "support/sequences.h"

namespace flashmoe::test::dropout_test {
namespace {

// The vectors that come with its authors' library.
TEST(Philox, GivesTheKnownAnswers) {
  const auto expect = [](const Philox& random, std::array<uint32_t, 4> words) {
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(random.word[i], words[i]);
  };
  expect({0, 0, 0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  expect({~uint64_t{0}, ~0U, ~0U, ~0U, ~0U}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  expect({0x299f31d0a4093822, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

// Of n pairs, how many are kept where `pick(i)` says which: no further from the expected than 5 deviations.
template <class Pick>
void expect_share(double expected, int64_t n, const Pick& pick) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += pick(i) ? 1 : 0;
  const double deviation = std::sqrt(expected * (1 - expected) / static_cast<double>(n));
  EXPECT_NEAR(static_cast<double>(count) / static_cast<double>(n), expected, 5 * deviation);
}

TEST(PairDropout, KeepsTheShareThatItIsToldAndNeighboursAreIndependent) {
  for (const float p : {0.01F, 0.1F, 0.25F, 0.5F, 0.9F}) {
    const PairDropout dropout(p, 42), other(p, 43);
    const auto kept = [&](int64_t head, int64_t row, int64_t key) {
      return dropout.factor(head, row, key) != 0;
    };
    const double keep = 1 - std::round(p * 65536) / 65536;
    constexpr int64_t kPairs = 100'000;
    SCOPED_TRACE(p);
    expect_share(keep, kPairs, [&](int64_t i) { return kept(i / 50'000, i / 500 % 100, i % 500); });
    // Both of two are kept as often as two that know nothing of each other.
    const double both = keep * keep;
    for (const int64_t step : {1, 2, 7, 8, 64})
      expect_share(both, kPairs,
                   [&](int64_t i) { return kept(0, i / 500, i % 500) && kept(0, i / 500, i % 500 + step); });
    expect_share(both, kPairs,
                 [&](int64_t i) { return kept(0, i / 500, i % 500) && kept(0, i / 500 + 1, i % 500); });
    expect_share(both, kPairs,
                 [&](int64_t i) { return kept(0, i / 500, i % 500) && kept(1, i / 500, i % 500); });
    expect_share(both, kPairs, [&](int64_t i) {
      return kept(0, i / 500, i % 500) && other.factor(0, i / 500, i % 500) != 0;
    });
  }
}

TEST(PairDropout, TheFactorsOfABlockAreThoseOfItsKeys) {
  const PairDropout dropout(0.4F, 7);
  float factors[PairDropout::kKeys];
  dropout.factors(3, 5, 11, factors);
  std::set<float> different;
  for (int64_t i = 0; i < PairDropout::kKeys; ++i) {
    EXPECT_EQ(factors[i], dropout.factor(3, 5, 8 * 11 + i));
    different.insert(factors[i]);
  }
  EXPECT_EQ(different.size(), 2U);
}

class DropoutOfType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, DropoutOfType, testing::ValuesIn(kDTypes),
                         [](const auto& type) { return name_of(type.param); });

std::vector<Shape> shapes_of(DType dtype) {
  std::vector<Shape> all;
  for (const Mask mask : kMasks) {
    for (const int64_t rows : {1, 7, 130}) {
      for (const int64_t keys : {1, 60, 300}) {
        Shape shape{.batch = 2,
                    .q_heads = 4,
                    .kv_heads = 2,
                    .q_rows = rows,
                    .kv_rows = keys,
                    .head_dim = 24,
                    .dtype = dtype,
                    .mask = mask,
                    .threads = 2};
        shape.dropout = {.p = 0.3F, .seed = 0x123456789};
        all.push_back(shape);
      }
    }
  }
  Shape changed = all[4];
  changed.softcap = 3;
  changed.slopes = {0.5F, 0.25F, 0.125F, 0.0625F};
  changed.sinks = {1, -1, 0, 2};
  all.push_back(changed);
  Shape first_keys = all[8];  // what one row sees are two runs
  first_keys.mask = Mask::causal;
  first_keys.window = {20, 0};
  first_keys.first_keys = 5;
  all.push_back(first_keys);
  all.push_back(packed({.q_heads = 2, .head_dim = 16, .dtype = dtype, .mask = Mask::causal}, {0, 5, 70, 3},
                       {9, 5, 100, 0}, 2));
  all.back().dropout = {.p = 0.5F, .seed = 3};
  return all;
}

TEST_P(DropoutOfType, OutputsAndGradientsAgreeWithTheOracle) {
  for (const Shape& shape : shapes_of(GetParam())) {
    BackwardProblem problem(shape, true);
    run_backward(arguments_of(problem));
    ASSERT_AGREES_WITH_ORACLE(problem, shape);
    problem.forward.run();
    ASSERT_AGREES_WITH_ORACLE(problem.forward, shape);
  }
}

TEST_P(DropoutOfType, KernelsAndThreadsAndSplitsLeaveOutTheSamePairs) {
  Shape shape{.q_heads = 2,
              .kv_heads = 1,
              .q_rows = 40,
              .kv_rows = 1500,
              .head_dim = 16,
              .dtype = GetParam(),
              .mask = Mask::causal};
  shape.dropout = {.p = 0.2F, .seed = 99};
  BackwardProblem problem(shape);
  for (const cpu::BackwardKernel* kernel : kernels_for(problem)) {
    for (const int threads : {1, 3}) {
      problem.poison_gradients();
      run_backward(problem, *kernel, threads);
      EXPECT_AGREES_WITH_ORACLE(problem, shape) << kernel->name;
    }
  }
  for (const int threads : {1, 5}) {
    const cpu::Plan plan = cpu::make_plan(problem.forward.problem, cpu::portable_kernel(), threads);
    const std::size_t bytes = plan.workspace_bytes + kWorkspaceAlignment;
    const std::unique_ptr<std::byte[]> space(new std::byte[bytes]);
    cpu::forward(plan, problem.forward.problem, problem.forward.args, Workspace::in(space.get(), bytes));
    EXPECT_AGREES_WITH_ORACLE(problem.forward, shape) << "portable";
  }
}

TEST(Dropout, TheMeanOverSeedsIsTheOutputWithoutIt) {
  Shape shape{.q_rows = 4, .kv_rows = 64, .head_dim = 8};
  Problem plain(shape);
  plain.run();
  constexpr int kSeeds = 2000;
  std::vector<double> mean(32, 0.0), square(32, 0.0);
  shape.dropout.p = 0.4F;
  Problem problem(shape);
  for (int seed = 0; seed < kSeeds; ++seed) {
    problem.args.dropout.seed = static_cast<uint64_t>(seed);
    problem.run();
    for (std::size_t i = 0; i < 32; ++i) {
      const double out = problem.out(0, 0, static_cast<int64_t>(i / 8), static_cast<int64_t>(i % 8));
      mean[i] += out / kSeeds;
      square[i] += out * out / kSeeds;
    }
    EXPECT_NEAR(problem.lse(0, 0, 1), plain.lse(0, 0, 1), 1e-6);
  }
  for (std::size_t i = 0; i < 32; ++i) {
    const double deviation = std::sqrt((square[i] - mean[i] * mean[i]) / kSeeds);
    EXPECT_GT(deviation, 0);
    EXPECT_NEAR(mean[i], plain.out(0, 0, static_cast<int64_t>(i / 8), static_cast<int64_t>(i % 8)),
                5 * deviation);
  }
}

TEST(Dropout, OfEverythingLeavesNothingAndOfNothingTheSameBits) {
  Shape shape{.q_rows = 5, .kv_rows = 9, .head_dim = 8};
  Problem plain(shape);
  plain.run();
  shape.dropout = {.p = 0, .seed = 5};
  Problem none(shape);
  none.run();
  EXPECT_EQ(none.output_bytes(), plain.output_bytes());
  shape.dropout.p = 1;
  BackwardProblem all(shape);
  all.forward.run();
  EXPECT_EQ(all.forward.out(0, 0, 2, 3), 0.0F);
  EXPECT_NEAR(all.forward.lse(0, 0, 2), plain.lse(0, 0, 2), 1e-6);
  run_backward(arguments_of(all));
  EXPECT_AGREES_WITH_ORACLE(all, shape);
}

// The others are not raised in its place.
TEST(Dropout, AKeyThatIsTheWholeRowLeavesNothingWhenItIsLeftOut) {
  Shape shape{.q_rows = 1, .kv_rows = 40, .head_dim = 8};
  shape.dropout = {.p = 0.5F, .seed = 11};
  const PairDropout dropout(0.5F, 11);
  Problem problem(shape);
  int64_t left_out = 0;
  while (dropout.factor(0, 0, left_out) != 0) ++left_out;
  Problem::set(problem.args.k, 0, 0, left_out, 0, 100);  // its weight is all of the row
  Problem::set(problem.args.q, 0, 0, 0, 0, 100);
  problem.run();
  for (int64_t d = 0; d < 8; ++d) EXPECT_EQ(problem.out(0, 0, 0, d), 0.0F);
}

TEST(Dropout, CGivesTheSameBits) {
  Shape shape{.q_heads = 2, .kv_heads = 1, .q_rows = 9, .kv_rows = 20, .head_dim = 16, .mask = Mask::causal};
  shape.dropout = {.p = 0.25F, .seed = 0xFEDCBA9876543210};
  BackwardProblem problem(shape);
  problem.forward.run();
  run_backward(arguments_of(problem));
  const std::vector<std::byte> outputs = problem.forward.output_bytes(), gradients = problem.gradient_bytes();
  problem.poison_gradients();
  const flashmoe_dropout dropout{.p = 0.25F, .reserved = 0, .seed = 0xFEDCBA9876543210};
  std::vector<std::byte> space;
  const auto allocate = [](void* to, std::size_t bytes) {
    auto& memory = *static_cast<std::vector<std::byte>*>(to);
    memory.resize(bytes + kWorkspaceAlignment);
    return Workspace::in(memory.data(), memory.size()).data;
  };
  flashmoe_forward_args forward = to_c(problem.forward.args);
  forward.dropout = &dropout;
  ASSERT_EQ(flashmoe_attention_forward_with(&forward, allocate, &space), FLASHMOE_OK)
      << flashmoe_last_error();
  const BackwardArgs args = arguments_of(problem);
  flashmoe_backward_args backward = to_c(args);
  backward.dropout = &dropout;
  ASSERT_EQ(flashmoe_attention_backward_with(&backward, allocate, &space), FLASHMOE_OK)
      << flashmoe_last_error();
  EXPECT_EQ(problem.forward.output_bytes(), outputs);
  EXPECT_EQ(problem.gradient_bytes(), gradients);
}

TEST(Dropout, ExplainSaysSo) {
  Shape shape{.q_rows = 8, .kv_rows = 8, .dtype = DType::bf16};
  shape.dropout = {.p = 0.1F, .seed = 1};
  const std::string text = explain_forward(Problem(shape).args);
  EXPECT_NE(text.find("weights left out at random, 10 %"), std::string::npos) << text;
}

TEST(DropoutChecks, WhatIsNoProbabilityIsRefused) {
  Problem problem({.q_rows = 4, .kv_rows = 4});
  for (const float p : {-0.1F, 1.5F, std::nanf("")}) {
    problem.args.dropout.p = p;
    expect_says(refusal_of([&] { problem.run(); }), ErrorCode::invalid_argument, {"dropout.p is "}, "p");
  }
}

}  // namespace
}  // namespace flashmoe::test::dropout_test
