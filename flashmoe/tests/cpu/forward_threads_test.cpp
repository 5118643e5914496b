// SPDX-License-Identifier: MIT
// Threads change the speed, never the rightness; and the same call gives the same bits, always.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "support/problem.h"

namespace flashmoe::test::forward_threads_test {
namespace {

class ThreadsOfType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, ThreadsOfType, testing::ValuesIn(kDTypes),
                         [](const auto& type) { return name_of(type.param); });

// Many heads, few heads, one head; long and short: what a scheduler tells apart.
std::vector<Shape> shapes(DType dtype) {
  return {{.batch = 2,
           .q_heads = 4,
           .kv_heads = 2,
           .q_rows = 65,
           .kv_rows = 130,
           .dtype = dtype,
           .mask = Mask::causal},
          {.q_rows = 1, .kv_rows = 3000, .dtype = dtype},
          {.q_heads = 8, .kv_heads = 1, .q_rows = 2, .kv_rows = 1025, .dtype = dtype, .mask = Mask::causal},
          {.q_rows = 700, .kv_rows = 700, .head_dim = 32, .dtype = dtype, .mask = Mask::causal},
          {.q_rows = 3, .kv_rows = 5, .dtype = dtype}};
}

TEST_P(ThreadsOfType, EveryThreadCountIsRight) {
  for (Shape shape : shapes(GetParam())) {
    for (int threads : {1, 2, 3, 8, 1000}) {
      shape.threads = threads;
      Problem problem(shape);
      problem.run();
      EXPECT_AGREES_WITH_ORACLE(problem, shape);
    }
  }
}

TEST_P(ThreadsOfType, DecodeIsRightAtEveryThreadCount) {
  for (int64_t kv_rows : {511, 512, 513, 1023, 1024, 1025, 4097}) {
    for (int threads : {1, 2, 3, 8}) {
      for (int64_t group : {1, 4}) {
        const Shape shape{.q_heads = 2 * group,
                          .kv_heads = 2,
                          .q_rows = 1,
                          .kv_rows = kv_rows,
                          .head_dim = 72,
                          .dtype = GetParam(),
                          .mask = Mask::causal,
                          .threads = threads};
        Problem problem(shape);
        problem.run();
        EXPECT_AGREES_WITH_ORACLE(problem, shape);
      }
    }
  }
}

TEST_P(ThreadsOfType, DecodeOfTheBenchmarkShape) {
  const Shape shape{
      .q_heads = 32, .kv_heads = 8, .q_rows = 1, .kv_rows = 8192, .head_dim = 128, .dtype = GetParam()};
  Problem problem(shape);
  problem.run();
  EXPECT_AGREES_WITH_ORACLE(problem, shape);
}

TEST_P(ThreadsOfType, RepeatedCallsGiveTheSameBits) {
  for (Shape shape : shapes(GetParam())) {
    for (int threads : {0, 1, 2, 3, 8}) {
      shape.threads = threads;
      Problem first(shape);
      first.run();
      for (int repeat = 0; repeat < 4; ++repeat) {
        Problem again(shape);
        again.run();
        ASSERT_EQ(first.output_bytes(), again.output_bytes()) << describe(shape);
      }
    }
  }
}

TEST_P(ThreadsOfType, CallsFromSeveralThreadsAtOnceGiveTheSameBits) {
  for (Shape shape : shapes(GetParam())) {
    for (int threads : {0, 1, 3}) {
      shape.threads = threads;
      Problem alone(shape);
      alone.run();
      constexpr int kCallers = 4;
      std::vector<std::vector<std::byte>> outputs(kCallers);
      std::vector<std::thread> callers;
      for (int caller = 0; caller < kCallers; ++caller) {
        callers.emplace_back([&, caller] {
          for (int repeat = 0; repeat < 3; ++repeat) {
            Problem problem(shape);
            problem.run();
            outputs[caller] = problem.output_bytes();
          }
        });
      }
      for (std::thread& caller : callers) caller.join();
      for (const auto& output : outputs) ASSERT_EQ(output, alone.output_bytes()) << describe(shape);
    }
  }
}

}  // namespace
}  // namespace flashmoe::test::forward_threads_test
