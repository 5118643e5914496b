// SPDX-License-Identifier: MIT
// Softcap, slopes and sinks: what they do to outputs and gradients, with every mask and every kernel.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "api/refusal.h"
#include "cpu/backward_run.h"
#include "cpu/forward.h"
#include "cpu/kernels.h"
#include "support/problem.h"
#include "support/sequences.h"

namespace flashmoe::test::scores_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// As models have them: 2^(-8 h / heads).
std::vector<float> slopes(int64_t heads, float most = 1) {
  std::vector<float> all;
  for (int64_t h = 0; h < heads; ++h)
    all.push_back(most * std::exp2(-8.0F * static_cast<float>(h + 1) / static_cast<float>(heads)));
  return all;
}

// Every way to change scores that a model has, and all of them together.
std::vector<Shape> changes_of(const Shape& plain) {
  std::vector<Shape> all(5, plain);
  all[0].softcap = 3;
  all[1].slopes = slopes(plain.q_heads);
  all[2].sinks = std::vector<float>(static_cast<std::size_t>(plain.q_heads), 1.5F);
  all[3].softcap = 30;
  all[3].sinks = std::vector<float>(static_cast<std::size_t>(plain.q_heads), -0.5F);
  all[4].softcap = 2;
  all[4].slopes = slopes(plain.q_heads * plain.batch, 0.3F);
  for (int64_t h = 0; h < plain.q_heads; ++h) all[4].sinks.push_back(static_cast<float>(h) - 1);
  return all;
}

// The forward by one kernel.
void run(Problem& problem, const cpu::Kernel& kernel, int threads) {
  const cpu::Plan plan = cpu::make_plan(problem.problem, kernel, threads);
  const std::size_t bytes = plan.workspace_bytes + kWorkspaceAlignment;
  const std::unique_ptr<std::byte[]> space(new std::byte[bytes]);
  cpu::forward(plan, problem.problem, problem.args, Workspace::in(space.get(), bytes));
}

class ScoresOfType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, ScoresOfType, testing::ValuesIn(kDTypes),
                         [](const auto& type) { return name_of(type.param); });

TEST_P(ScoresOfType, OutputsAgreeWithTheOracleUnderEveryMask) {
  for (const Mask mask : kMasks) {
    for (const int64_t rows : {1, 7, 129}) {
      for (const int64_t keys : {1, 127, 300}) {
        for (const Shape& shape : changes_of({.batch = 2,
                                  .q_heads = 4,
                                  .kv_heads = 2,
                                  .q_rows = rows,
                                  .kv_rows = keys,
                                  .head_dim = 40,
                                  .dtype = GetParam(),
                                  .mask = mask,
                                  .threads = 2})) {
          Problem problem(shape);
          problem.run();
          ASSERT_AGREES_WITH_ORACLE(problem, shape);
        }
      }
    }
  }
}

TEST_P(ScoresOfType, GradientsAgreeWithTheOracleUnderEveryMask) {
  for (const Mask mask : kMasks) {
    for (const int64_t keys : {60, 130}) {
      for (const Shape& shape : changes_of({.batch = 2,
                                .q_heads = 4,
                                .kv_heads = 2,
                                .q_rows = 70,
                                .kv_rows = keys,
                                .head_dim = 24,
                                .dtype = GetParam(),
                                .mask = mask,
                                .threads = 2})) {
        BackwardProblem problem(shape, mask != Mask::none);
        run_backward(arguments_of(problem));
        ASSERT_AGREES_WITH_ORACLE(problem, shape);
      }
    }
  }
}

TEST_P(ScoresOfType, EveryKernelThatMayBeChosenAgrees) {
  for (const Shape& shape : changes_of({.q_heads = 2,
                            .kv_heads = 1,
                            .q_rows = 50,
                            .kv_rows = 90,
                            .head_dim = 16,
                            .dtype = GetParam(),
                            .mask = Mask::causal})) {
    BackwardProblem problem(shape);
    for (const cpu::BackwardKernel* kernel : kernels_for(problem)) {
      problem.poison_gradients();
      run_backward(problem, *kernel, 2);
      EXPECT_AGREES_WITH_ORACLE(problem, shape) << kernel->name;
    }
    Problem forward(shape);
    run(forward, cpu::portable_kernel(), 2);
    EXPECT_AGREES_WITH_ORACLE(forward, shape) << "portable";
  }
}

TEST_P(ScoresOfType, WindowsAndKeySplitsAndManyThreadsAgree) {
  for (const Shape& shape : changes_of({.q_heads = 2,
                            .kv_heads = 1,
                            .q_rows = 3,
                            .kv_rows = 3000,
                            .head_dim = 32,
                            .dtype = GetParam(),
                            .window = {1500, 0},
                            .threads = 8})) {
    Problem problem(shape);
    problem.run();
    EXPECT_AGREES_WITH_ORACLE(problem, shape);
  }
}

TEST_P(ScoresOfType, SequencesOfEveryLengthAgree) {
  for (const Shape& plain :
       {packed({.q_heads = 2, .head_dim = 16, .dtype = GetParam(), .mask = Mask::causal}, {0, 5, 70, 3},
               {9, 5, 100, 0}, 2),
        padded({.q_heads = 2, .q_rows = 40, .kv_rows = 50, .head_dim = 16, .dtype = GetParam()},
               {40, 7, 0, 9}, {50, 3, 8, 0})}) {
    Shape with_heads = plain;
    with_heads.kv_heads = 1;
    for (const Shape& shape : changes_of(with_heads)) {
      BackwardProblem problem(shape, true);
      run_backward(arguments_of(problem));
      ASSERT_AGREES_WITH_ORACLE(problem, shape);
      problem.forward.run();
      ASSERT_AGREES_WITH_ORACLE(problem.forward, shape);
    }
  }
}

// Capped after the mask, a hidden key would get the weight of the smallest capped score.
TEST_P(ScoresOfType, AMaskHidesWhatWasCapped) {
  Shape shape{.q_rows = 20, .kv_rows = 20, .head_dim = 16, .dtype = GetParam(), .mask = Mask::causal};
  shape.softcap = 1;
  BackwardProblem problem(shape);
  for (int64_t key = 10; key < 20; ++key) Problem::set_row(problem.forward.args.v, 0, 0, key, 30000);
  problem.forward.run();
  EXPECT_AGREES_WITH_ORACLE(problem.forward, shape);
  EXPECT_LT(std::abs(problem.forward.out(0, 0, 9, 0)), 100);
  run_backward(arguments_of(problem));
  for (int64_t d = 0; d < 16; ++d) EXPECT_TRUE(std::isfinite(Problem::get(problem.dq, 0, 0, 5, d)));
}

TEST_P(ScoresOfType, CapsFromHalfToTenThousandAndLogitsFarBeyond) {
  for (const float cap : {0.5F, 1.0F, 50.0F, 1e4F}) {
    for (const float spread : {0.1F, 1.0F, 20.0F}) {
      Shape shape{.q_heads = 2,
                  .q_rows = 40,
                  .kv_rows = 90,
                  .head_dim = 32,
                  .dtype = GetParam(),
                  .mask = Mask::causal,
                  .spread = spread};
      shape.kv_heads = 2;
      shape.softcap = cap;
      Problem forward(shape);
      forward.run();
      EXPECT_AGREES_WITH_ORACLE(forward, shape);
      BackwardProblem problem(shape);
      run_backward(arguments_of(problem));
      EXPECT_AGREES_WITH_ORACLE(problem, shape);
    }
  }
}

TEST_P(ScoresOfType, SinksOfAnySizeEvenInRowsThatSeeNothing) {
  for (const float sink : {-kInfinity, -1e4F, 0.0F, 100.0F, 1e4F}) {
    Shape shape{.q_rows = 30, .kv_rows = 20, .head_dim = 16, .dtype = GetParam(), .mask = Mask::causal};
    shape.sinks = {sink};
    Problem problem(shape);
    problem.run();
    EXPECT_AGREES_WITH_ORACLE(problem, shape);
    EXPECT_EQ(problem.lse(0, 0, 0), sink) << "it sees no key";
    EXPECT_EQ(problem.out(0, 0, 0, 0), 0.0F);
    BackwardProblem backward(shape, true);
    run_backward(arguments_of(backward));
    EXPECT_AGREES_WITH_ORACLE(backward, shape);
  }
}

TEST_P(ScoresOfType, WithoutAnyKeyTheSinkIsAllThereIs) {
  Shape shape{.q_heads = 2, .kv_heads = 2, .q_rows = 3, .kv_rows = 0, .dtype = GetParam()};
  shape.sinks = {2, -3};
  BackwardProblem problem(shape, true);
  problem.forward.run();
  EXPECT_AGREES_WITH_ORACLE(problem.forward, shape);
  EXPECT_EQ(problem.forward.lse(0, 1, 2), -3.0F);
  run_backward(arguments_of(problem));
  EXPECT_AGREES_WITH_ORACLE(problem, shape);
}

// A row's weights and the sink's are those of one softmax over one more key.
TEST(Scores, ASinkIsAKeyWhoseValueIsZero) {
  Shape plain{.q_rows = 6, .kv_rows = 11, .head_dim = 8};
  Problem problem(plain);
  Shape shape = plain;
  shape.sinks = {0};
  Problem with_sink(shape);
  problem.args.k.sizes[2] = with_sink.args.k.sizes[2] = 10;
  problem.args.v.sizes[2] = with_sink.args.v.sizes[2] = 10;
  with_sink.run();
  problem.args.k.sizes[2] = problem.args.v.sizes[2] = 11;
  Problem::set_row(problem.args.k, 0, 0, 10, 0);  // its score is 0, and so is the sink
  Problem::set_row(problem.args.v, 0, 0, 10, 0);
  problem.run();
  for (int64_t row = 0; row < 6; ++row) {
    EXPECT_NEAR(problem.lse(0, 0, row), with_sink.lse(0, 0, row), 1e-5);
    for (int64_t d = 0; d < 8; ++d) EXPECT_NEAR(problem.out(0, 0, row, d), with_sink.out(0, 0, row, d), 1e-5);
  }
}

TEST(Scores, SlopesCountFromTheRowsOwnPosition) {
  for (const Mask mask : kMasks) {
    Shape shape{.q_rows = 3, .kv_rows = 5, .head_dim = 8, .mask = mask};
    shape.slopes = {1};
    Problem problem(shape);
    for (int64_t row = 0; row < 3; ++row) Problem::set_row(problem.args.q, 0, 0, row, 0);
    for (int64_t key = 0; key < 5; ++key)
      for (int64_t d = 0; d < 8; ++d) Problem::set(problem.args.v, 0, 0, key, d, d == key ? 1.0F : 0.0F);
    problem.run();
    const int64_t own = mask == Mask::causal_top_left ? 1 : 3;  // of row 1
    EXPECT_NEAR(problem.out(0, 0, 1, own - 1) / problem.out(0, 0, 1, own), std::exp(-1.0F), 1e-6);
    if (mask != Mask::none) continue;
    EXPECT_NEAR(problem.out(0, 0, 1, own + 1) / problem.out(0, 0, 1, own), std::exp(-1.0F), 1e-6);
  }
}

TEST(Scores, ExplainSaysWhatHappensToThem) {
  Shape shape{.q_heads = 2, .kv_heads = 2, .q_rows = 8, .kv_rows = 8, .dtype = DType::bf16};
  shape.softcap = 30;
  shape.slopes = slopes(2);
  shape.sinks = {0, 0};
  Problem problem(shape);
  EXPECT_NE(
      explain_forward(problem.args).find("scores: capped at 30, less a slope times the distance, a sink"),
      std::string::npos)
      << explain_forward(problem.args);
}

TEST(ScoresChecks, WhatCanNotBeRightIsRefused) {
  Problem problem({.q_heads = 4, .kv_heads = 4, .q_rows = 4, .kv_rows = 4});
  for (const float cap : {-1.0F, kInfinity, std::numeric_limits<float>::quiet_NaN(), 1e-40F}) {
    problem.args.scores = {.softcap = cap};
    expect_says(refusal_of([&] { problem.run(); }), ErrorCode::invalid_argument, {"softcap is "}, "cap");
  }
  const std::vector<float> some(4, 0.5F);
  problem.args.scores = {.alibi_slopes = some.data(), .slopes_batch_stride = 3};
  expect_says(refusal_of([&] { problem.run(); }), ErrorCode::invalid_argument,
              {"slopes_batch_stride is 3", "4 heads"}, "stride");
  problem.args.scores = {.sinks = problem.args.lse};
  expect_says(refusal_of([&] { problem.run(); }), ErrorCode::invalid_argument, {"lse overlaps sinks"},
              "overlap");
  BackwardProblem backward({.q_rows = 4, .kv_rows = 4});
  BackwardArgs args = arguments_of(backward);
  float dsink = 0;
  args.dsinks = &dsink;
  expect_says(refusal_of([&] { run_backward(args); }), ErrorCode::invalid_argument,
              {"dsinks is given and scores.sinks is null"}, "dsinks");
}

}  // namespace
}  // namespace flashmoe::test::scores_test
