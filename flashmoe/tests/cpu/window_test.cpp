// SPDX-License-Identifier: MIT
// Windows: which keys a row sees, and that every way to say the same gives the same.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "api/refusal.h"
#include "cpu/forward.h"
#include "support/problem.h"

namespace flashmoe::test::window_test {
namespace {

// The keys with weight in a row's output: V has a one for each key in a column of its own.
std::set<int64_t> seen_by(const Shape& shape, int64_t row) {
  Problem problem(shape);
  for (int64_t key = 0; key < shape.kv_rows; ++key)
    for (int64_t d = 0; d < shape.head_dim; ++d)
      Problem::set(problem.args.v, 0, 0, key, d, d == key ? 1.0F : 0.0F);
  problem.run();
  std::set<int64_t> seen;
  for (int64_t key = 0; key < shape.kv_rows; ++key)
    if (problem.out(0, 0, row, key) != 0) seen.insert(key);
  return seen;
}

std::set<int64_t> keys(int64_t first, int64_t last) {
  std::set<int64_t> all;
  for (int64_t key = first; key <= last; ++key) all.insert(key);
  return all;
}

class WindowOfType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, WindowOfType, testing::ValuesIn(kDTypes),
                         [](const auto& type) { return name_of(type.param); });

TEST_P(WindowOfType, ARowSeesSoManyKeysOnEitherSide) {
  const Shape shape{.q_rows = 40, .kv_rows = 40, .head_dim = 40, .dtype = GetParam(), .window = {5, 2}};
  EXPECT_EQ(seen_by(shape, 0), keys(0, 2));
  EXPECT_EQ(seen_by(shape, 20), keys(15, 22));
  EXPECT_EQ(seen_by(shape, 39), keys(34, 39));
}

TEST_P(WindowOfType, TheLastRowStandsAtTheLastKey) {
  const Shape shape{.q_rows = 3, .kv_rows = 64, .dtype = GetParam(), .window = {7, 0}};
  EXPECT_EQ(seen_by(shape, 2), keys(56, 63));
  EXPECT_EQ(seen_by(shape, 0), keys(54, 61));
}

TEST_P(WindowOfType, OrTheFirstAtTheFirst) {
  const Shape shape{.q_rows = 64,
                    .kv_rows = 20,
                    .dtype = GetParam(),
                    .mask = Mask::causal_top_left,
                    .window = {4, Window::kUnlimited}};
  EXPECT_EQ(seen_by(shape, 10), keys(6, 10));
  EXPECT_EQ(seen_by(shape, 21), keys(17, 19));
  EXPECT_EQ(seen_by(shape, 24), keys(1, 0)) << "it stands past all keys";
}

TEST_P(WindowOfType, RowsThatSeeNothingAreZero) {
  const Shape shape{.q_rows = 100, .kv_rows = 30, .dtype = GetParam(), .window = {3, 2}};
  Problem problem(shape);
  problem.run();
  EXPECT_AGREES_WITH_ORACLE(problem, shape);
  EXPECT_EQ(problem.out(0, 0, 0, 0), 0.0F);
  EXPECT_EQ(problem.lse(0, 0, 0), -std::numeric_limits<float>::infinity());
}

TEST_P(WindowOfType, EveryWayToSayCausalIsTheSame) {
  const Shape causal{
      .q_heads = 2, .q_rows = 150, .kv_rows = 200, .dtype = GetParam(), .mask = Mask::causal, .threads = 2};
  Problem expected(causal);
  expected.run();
  for (const Window window : {Window{Window::kUnlimited, 0}, Window{200, 0}, Window{199, 0}}) {
    for (const Mask mask : {Mask::none, Mask::causal}) {
      Shape shape = causal;
      shape.mask = mask;
      shape.window = window;
      Problem problem(shape);
      problem.run();
      EXPECT_EQ(problem.output_bytes(), expected.output_bytes()) << describe(shape);
      EXPECT_FALSE(problem.problem.window.limits());
    }
  }
}

TEST_P(WindowOfType, EveryLengthAndThreadCountAgreesWithTheOracle) {
  for (const Window window :
       {Window{0, 0}, Window{63, 0}, Window{127, 128}, Window{300, Window::kUnlimited}}) {
    for (const int64_t rows : {1, 2, 9, 130, 333}) {
      for (const int64_t kv_rows : {1, 64, 257, 1100}) {
        for (const int threads : {1, 4}) {
          const Shape shape{.q_heads = 4,
                            .kv_heads = 2,
                            .q_rows = rows,
                            .kv_rows = kv_rows,
                            .head_dim = 16,
                            .dtype = GetParam(),
                            .window = window,
                            .threads = threads};
          Problem problem(shape);
          problem.run();
          EXPECT_AGREES_WITH_ORACLE(problem, shape);
        }
      }
    }
  }
}

TEST_P(WindowOfType, WhatLiesOutsideMayBeAnything) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const int64_t rows : {1, 4, 100}) {
    const Shape shape{.q_rows = rows, .kv_rows = 400, .dtype = GetParam(), .window = {20, 0}};
    Problem problem(shape);
    for (int64_t key = 0; key < 400 - rows - 20; ++key) {
      Problem::set_row(problem.args.k, 0, 0, key, kNaN);
      Problem::set_row(problem.args.v, 0, 0, key, kNaN);
    }
    problem.run();
    EXPECT_AGREES_WITH_ORACLE(problem, shape);
    EXPECT_FALSE(std::isnan(problem.out(0, 0, 0, 0)));
  }
}

TEST(WindowPlan, ADecodeStepTakesTheKeysOfItsWindowAlone) {
  ForwardProblem p{.q_rows = 1, .kv_rows = 1 << 20, .head_dim = 64, .window = {1023, 0}};
  const cpu::Plan plan = cpu::plan_forward(p, {.threads = 8});
  EXPECT_LE(plan.splits * plan.keys_per_split, 1024 + 64 * plan.splits);
  for (int64_t task = 0; task < plan.tasks(); ++task) {
    EXPECT_GE(place_of(plan, p, task).kv_begin, (1 << 20) - 1024);
    EXPECT_LT(place_of(plan, p, task).kv_begin, place_of(plan, p, task).kv_end);
  }
}

TEST(WindowChecks, SidesAreNotNegative) {
  Problem problem({.q_rows = 4, .kv_rows = 4});
  problem.args.window = {-1, 0};
  expect_says(refusal_of([&] { problem.run(); }), ErrorCode::invalid_argument, {"window is (-1, 0)"}, "left");
}

}  // namespace
}  // namespace flashmoe::test::window_test
