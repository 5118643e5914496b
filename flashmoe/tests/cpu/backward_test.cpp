// SPDX-License-Identifier: MIT
// Gradients of the CPU backend against the float64 oracle, element by element.
#include "cpu/backward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "cpu/backward_run.h"

namespace flashmoe::test::backward_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class BackwardOfType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, BackwardOfType, testing::ValuesIn(kDTypes),
                         [](const auto& type) { return name_of(type.param); });

// With every kernel that takes it.
void expect_right(const Shape& shape, bool with_dlse = false) {
  const BackwardProblem problem(shape, with_dlse);
  const reference::BackwardResult expected = problem.oracle();
  for (const cpu::BackwardKernel* kernel : kernels_for(problem)) {
    run_backward(problem, *kernel, 2);
    EXPECT_EQ(problem.disagreement(expected), "") << describe(shape) << ", " << kernel->name;
  }
}

TEST_P(BackwardOfType, LengthsAroundTiles) {
  for (int64_t q_rows : {1, 2, 7, 8, 9, 31, 33, 63, 64, 65, 130}) {
    for (int64_t kv_rows : {1, 3, 8, 15, 17, 64, 65, 127, 129, 257}) {
      expect_right({.q_rows = q_rows, .kv_rows = kv_rows, .head_dim = 16, .dtype = GetParam()});
    }
  }
}

TEST_P(BackwardOfType, EveryHeadDim) {
  for (int64_t dim = 1; dim <= 256; dim += dim < 40 ? 1 : 9)
    expect_right({.q_rows = 19, .kv_rows = 21, .head_dim = dim, .dtype = GetParam(), .mask = Mask::causal});
  expect_right({.q_rows = 19, .kv_rows = 21, .head_dim = 256, .dtype = GetParam()});
}

TEST_P(BackwardOfType, MasksWithMoreOrFewerRowsThanKeys) {
  for (Mask mask : kMasks) {
    for (auto [q_rows, kv_rows] :
         {std::pair{5, 3}, {3, 5}, {70, 300}, {300, 70}, {150, 150}, {1, 40}, {40, 1}}) {
      for (int64_t group : {1, 3, 8}) {
        expect_right({.q_heads = group,
                      .q_rows = q_rows,
                      .kv_rows = kv_rows,
                      .head_dim = 24,
                      .dtype = GetParam(),
                      .mask = mask},
                     group == 3);
      }
    }
  }
}

TEST_P(BackwardOfType, BatchesHeadsAndLayouts) {
  for (Layout layout : kLayouts) {
    for (bool with_dlse : {false, true}) {
      expect_right({.batch = 2,
                    .q_heads = 6,
                    .kv_heads = 2,
                    .q_rows = 45,
                    .kv_rows = 50,
                    .head_dim = 33,
                    .dtype = GetParam(),
                    .mask = Mask::causal,
                    .layout = layout},
                   with_dlse);
    }
  }
}

TEST_P(BackwardOfType, LogitsOfTenThousandAndScales) {
  for (Mask mask : kMasks)
    expect_right({.q_rows = 70, .kv_rows = 90, .dtype = GetParam(), .mask = mask, .spread = 100});
  for (float scale : {1.0F, -0.3F, 0.01F, 0.0F})
    expect_right({.q_rows = 37, .kv_rows = 50, .dtype = GetParam(), .scale = scale}, true);
}

// Rows that see no key: their out is 0, their LSE -inf, and nothing that stands in them counts.
TEST_P(BackwardOfType, RowsMaskedEverywhereHaveNoGradientWhateverTheyHold) {
  const Shape shape{.q_heads = 2, .q_rows = 100, .kv_rows = 37, .dtype = GetParam(), .mask = Mask::causal};
  const BackwardProblem problem(shape, true);
  const reference::BackwardResult expected = problem.oracle();
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t s = 0; s < 63; ++s) {
      Problem::set_row(problem.forward.args.q, 0, h, s, kNaN);
      Problem::set_row(problem.dout, 0, h, s, kInf);
    }
  }
  run_backward(problem);
  EXPECT_EQ(problem.disagreement(expected), "");
  for (int64_t s = 0; s < 63; ++s)
    for (int64_t d = 0; d < 64; ++d) ASSERT_EQ(Problem::get(problem.dq, 0, 1, s, d), 0.0F);
}

// dq, dk or dv against the oracle, for the rows that `counts` says.
template <class Counts>
void expect_rows(const char* name, const Tensor& t, const reference::Gradient& expected,
                 const Counts& counts) {
  for (int64_t s = 0; s < t.sizes[2]; ++s) {
    for (int64_t d = 0; d < t.sizes[3]; ++d) {
      const auto i = static_cast<std::size_t>(s * t.sizes[3] + d);
      const double error = std::abs(Problem::get(t, 0, 0, s, d) - expected.value[i]);
      ASSERT_EQ(counts(s), error <= expected.bound[i]) << name << "[" << s << ", " << d << "]";
    }
  }
}

// A key that a row does not see does not touch its dq, a row that does not see a key not its dk and dv,
// whatever they hold.
template <class Sees>
void expect_no_harm_from_the_hidden(const Shape& shape, int64_t at, const Sees& sees) {
  const reference::BackwardResult expected = BackwardProblem(shape).oracle();
  for (const cpu::BackwardKernel* kernel : kernels_for(BackwardProblem(shape))) {
    BackwardProblem rows(shape);
    Problem::set_row(rows.forward.args.q, 0, 0, at, kNaN);
    Problem::set_row(rows.dout, 0, 0, at, kInf);
    run_backward(rows, *kernel, 1);
    expect_rows("dq", rows.dq, expected.dq, [&](int64_t s) { return s != at; });
    expect_rows("dk", rows.dk, expected.dk, [&](int64_t s) { return !sees(at, s); });
    expect_rows("dv", rows.dv, expected.dv, [&](int64_t s) { return !sees(at, s); });

    BackwardProblem keys(shape);
    Problem::set_row(keys.forward.args.k, 0, 0, at, kNaN);
    run_backward(keys, *kernel, 1);
    expect_rows("dq", keys.dq, expected.dq, [&](int64_t s) { return !sees(s, at); });
    expect_rows("dv", keys.dv, expected.dv, [&](int64_t s) { return s != at; });
  }
}

TEST_P(BackwardOfType, WhatIsHiddenDoesNoHarm) {
  const Shape causal{
      .q_rows = 100, .kv_rows = 100, .head_dim = 20, .dtype = GetParam(), .mask = Mask::causal};
  Shape windowed = causal;
  windowed.mask = Mask::none;
  windowed.window = {30, 12};
  for (const int64_t at : {0, 5, 70, 98, 99}) {
    expect_no_harm_from_the_hidden(causal, at, [](int64_t row, int64_t key) { return key <= row; });
    expect_no_harm_from_the_hidden(
        windowed, at, [](int64_t row, int64_t key) { return row - 30 <= key && key <= row + 12; });
  }
}

TEST_P(BackwardOfType, Windows) {
  for (const Window window :
       {Window{0, 0}, Window{7, 3}, Window{100, 0}, Window{250, 90}, Window{40, Window::kUnlimited}}) {
    for (const Mask mask : {Mask::none, Mask::causal_top_left}) {
      for (const int64_t rows : {1, 100, 400}) {
        for (const int64_t keys : {1, 130, 700}) {
          const Shape shape{.q_heads = 2,
                            .q_rows = rows,
                            .kv_rows = keys,
                            .head_dim = 24,
                            .dtype = GetParam(),
                            .mask = mask,
                            .window = window};
          const BackwardProblem problem(shape);
          const reference::BackwardResult expected = problem.oracle();
          for (const cpu::BackwardKernel* kernel : kernels_for(problem)) {
            run_backward(problem, *kernel, 3);
            EXPECT_EQ(problem.disagreement(expected), "") << describe(shape) << " " << kernel->name;
          }
        }
      }
    }
  }
}

TEST_P(BackwardOfType, KeysThatNoRowSeesHaveNoGradient) {
  const Shape shape{.q_rows = 20, .kv_rows = 300, .dtype = GetParam(), .mask = Mask::causal_top_left};
  const BackwardProblem problem(shape);
  run_backward(problem);
  EXPECT_EQ(problem.disagreement(), "");
  for (int64_t s = 20; s < 300; ++s) {
    for (int64_t d = 0; d < 64; ++d) {
      ASSERT_EQ(Problem::get(problem.dk, 0, 0, s, d), 0.0F);
      ASSERT_EQ(Problem::get(problem.dv, 0, 0, s, d), 0.0F);
    }
  }
}

// Many heads, few heads, one head; long and short: what a plan tells apart.
std::vector<Shape> shapes(DType dtype) {
  return {{.batch = 2,
           .q_heads = 4,
           .kv_heads = 2,
           .q_rows = 65,
           .kv_rows = 130,
           .dtype = dtype,
           .mask = Mask::causal},
          {.q_rows = 1, .kv_rows = 1000, .dtype = dtype},
          {.q_heads = 8, .q_rows = 20, .kv_rows = 400, .dtype = dtype, .mask = Mask::causal},
          {.q_rows = 300, .kv_rows = 300, .head_dim = 32, .dtype = dtype, .mask = Mask::causal_top_left},
          {.q_rows = 3, .kv_rows = 5, .dtype = dtype}};
}

TEST_P(BackwardOfType, EveryThreadCountIsRightAndGivesTheSameBitsAlways) {
  for (const Shape& shape : shapes(GetParam())) {
    const BackwardProblem problem(shape);
    const reference::BackwardResult expected = problem.oracle();
    for (int threads : {1, 2, 3, 8, 64}) {
      const auto run = [&] {
        run_backward(problem, cpu::choose_backward_kernel(problem.forward.problem), threads);
      };
      run();
      EXPECT_EQ(problem.disagreement(expected), "") << describe(shape) << ", threads " << threads;
      const std::vector<std::byte> bits = problem.gradient_bytes();
      for (int repeat = 0; repeat < 3; ++repeat) {
        run();
        ASSERT_EQ(problem.gradient_bytes(), bits) << describe(shape) << ", threads " << threads;
      }
    }
  }
}

TEST_P(BackwardOfType, CallsFromSeveralThreadsAtOnceGiveTheSameBits) {
  for (const Shape& shape : shapes(GetParam())) {
    const BackwardProblem alone(shape);
    run_backward(alone);
    std::vector<std::vector<std::byte>> gradients(3);
    std::vector<std::thread> callers;
    for (auto& bytes : gradients) {
      callers.emplace_back([&] {
        const BackwardProblem problem(shape);
        run_backward(problem);
        bytes = problem.gradient_bytes();
      });
    }
    for (std::thread& caller : callers) caller.join();
    for (const auto& bytes : gradients) ASSERT_EQ(bytes, alone.gradient_bytes()) << describe(shape);
  }
}

}  // namespace
}  // namespace flashmoe::test::backward_test
