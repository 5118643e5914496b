// SPDX-License-Identifier: MIT
#include "cpu/backward_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "cpu/backward.h"
#include "cpu/backward_kernels.h"

namespace flashmoe::cpu::backward_plan_test {
namespace {

ForwardProblem problem(int64_t heads, int64_t group, int64_t q_rows, int64_t kv_rows,
                       Mask mask = Mask::none) {
  return {.q_heads = heads * group,
          .kv_heads = heads,
          .q_rows = q_rows,
          .kv_rows = kv_rows,
          .head_dim = 64,
          .mask = mask,
          .scale = 0.125F};
}

BackwardPlan plan_of(const ForwardProblem& p, int threads) {
  return make_plan(p, choose_backward_kernel(p), threads);
}

TEST(BackwardPlan, CoversEveryKeyExactlyOnce) {
  for (Mask mask : {Mask::none, Mask::causal, Mask::causal_top_left}) {
    for (int threads : {1, 2, 3, 8, 64}) {
      for (auto [q_rows, kv_rows] :
           {std::pair{1, 1}, {1, 5000}, {3, 577}, {577, 3}, {129, 4097}, {2500, 2500}}) {
        for (int64_t heads : {1, 3, 8}) {
          const ForwardProblem p = problem(heads, 2, q_rows, kv_rows, mask);
          const BackwardPlan plan = plan_of(p, threads);
          ASSERT_GE(plan.threads, 1);
          ASSERT_LE(plan.threads, std::min<int64_t>(threads, plan.tasks()));
          std::map<int64_t, int64_t> keys_of;
          for (int64_t task = 0; task < plan.tasks(); ++task) {
            const BackwardPlace place = place_of(plan, p, task);
            ASSERT_EQ(place.kv_begin, keys_of[place.head]);
            ASSERT_LT(place.kv_begin, place.kv_end);
            keys_of[place.head] = place.kv_end;
          }
          ASSERT_EQ(keys_of.size(), static_cast<std::size_t>(heads));
          for (const auto& [head, keys] : keys_of) ASSERT_EQ(keys, kv_rows);
        }
      }
    }
  }
}

TEST(BackwardPlan, OneHeadUsesEveryThread) {
  for (int threads : {2, 3, 8, 16}) {
    EXPECT_EQ(plan_of(problem(1, 1, 2048, 2048), threads).threads, threads);
    EXPECT_EQ(plan_of(problem(1, 4, 2048, 2048, Mask::causal), threads).threads, threads);
  }
}

TEST(BackwardPlan, ManyHeadsAreNotSplit) {
  EXPECT_EQ(plan_of(problem(8, 1, 2048, 2048), 2).splits, 1);
  EXPECT_EQ(plan_of(problem(64, 1, 512, 512, Mask::causal), 8).splits, 1);
}

// What flashmoe/docs/decisions/cpu-backend.md says: dq of a head in fp32 for each thread, or for each task
// where keys are split, and what a thread works on.
TEST(BackwardPlan, WorkspaceIsTheSumsOfDqAndScratch) {
  for (int threads : {1, 2, 64}) {
    for (int64_t heads : {1, 8}) {
      for (int64_t rows : {128, 2048}) {
        const BackwardPlan plan = plan_of(problem(heads, 1, rows, rows), threads);
        const auto sums = static_cast<std::size_t>(plan.sums() * plan.dq_sums) * sizeof(float);
        EXPECT_EQ(plan.workspace_bytes, sums + static_cast<std::size_t>(plan.threads) * plan.scratch_bytes);
      }
    }
  }
}

TEST(BackwardPlan, SaysWhatItDoes) {
  const std::string text = explain_backward(problem(2, 4, 100, 100), {.threads = 1});
  EXPECT_NE(text.find("4 query heads of 100 positions"), std::string::npos) << text;
  EXPECT_NE(text.find("workspace: "), std::string::npos) << text;
}

}  // namespace
}  // namespace flashmoe::cpu::backward_plan_test
