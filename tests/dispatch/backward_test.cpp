// SPDX-License-Identifier: MIT
// How gradients are planned, on GPUs that need not be here.
#include "dispatch/backward.h"

#include <gtest/gtest.h>

#include "flashmoe/error.h"

namespace flashmoe::dispatch::backward {
namespace {

ForwardProblem problem(int64_t rows, int64_t head_dim, Mask mask = Mask::none) {
  return {.batch = 2,
          .q_heads = 8,
          .kv_heads = 4,
          .q_rows = rows,
          .kv_rows = rows,
          .head_dim = head_dim,
          .dtype = DType::bf16,
          .mask = mask,
          .scale = 1};
}

BackwardPlan plan(const ForwardProblem& p, bool deterministic = false) {
  return plan_backward(p, true, device::find("H200"), deterministic);
}

TEST(BackwardPlan, TakesTheNextLargerHeadDim) {
  EXPECT_EQ(plan(problem(512, 8)).head_dim, 64);
  EXPECT_EQ(plan(problem(512, 64)).head_dim, 64);
  EXPECT_EQ(plan(problem(512, 72)).head_dim, 128);
  EXPECT_EQ(plan(problem(512, 136)).head_dim, 256);
  EXPECT_EQ(plan(problem(512, 256)).head_dim, 256);
}

TEST(BackwardPlan, WorkspaceHoldsSumsOfDqAndTwoNumbersPerRow) {
  const int64_t rows = 2 * 8 * 640;  // 513 rows of 16 heads, rounded up to whole tiles
  EXPECT_EQ(plan(problem(513, 128)).workspace_bytes, static_cast<std::size_t>(4 * rows * (128 + 2)));
  // One counter more, and one per 4096 sums.
  EXPECT_EQ(plan(problem(513, 128), true).workspace_bytes,
            static_cast<std::size_t>(4 * rows * (128 + 2) + 4 * (1 + rows * 128 / 4096)));
}

TEST(BackwardPlan, FitsTheSharedMemoryOfABlock) {
  for (int64_t head_dim : {64, 128, 256}) {
    EXPECT_LE(plan(problem(512, head_dim)).smem_bytes, device::find("H200").smem_per_block);
  }
}

TEST(BackwardPlan, LongCausalRowsBeginWithTheLongestTilesOfSeveralHeads) {
  EXPECT_EQ(plan(problem(8192, 128)).heads_at_once, 1);
  EXPECT_EQ(plan(problem(512, 128, Mask::causal)).heads_at_once, 1);
  EXPECT_GT(plan(problem(4096, 128, Mask::causal)).heads_at_once, 1);
  EXPECT_LE(plan(problem(4096, 128, Mask::causal)).heads_at_once, 2 * 4);
}

// What reduce.cuh counts on: later keys have lower numbers, and a head's tiles come one after the other.
TEST(BackwardPlan, DeterministicOrderHasLaterKeysFirst) {
  for (Mask mask : {Mask::none, Mask::causal}) {
    const BackwardPlan in_order = plan(problem(4096, 128, mask), true);
    EXPECT_TRUE(in_order.last_first);
    EXPECT_EQ(in_order.heads_at_once, 1);
  }
}

TEST(BackwardPlan, RefusesWhatNoKernelTakes) {
  ForwardProblem fp32 = problem(512, 64);
  fp32.dtype = DType::fp32;
  EXPECT_THROW(plan(fp32), Error);
  EXPECT_THROW(plan(problem(512, 60)), Error);
  EXPECT_THROW(plan(problem(512, 264)), Error);
  EXPECT_THROW(plan_backward(problem(512, 64), false, device::find("H200"), false), Error);
  EXPECT_THROW(plan_backward(problem(512, 64), true, device::find("L4"), false), Error);
}

}  // namespace
}  // namespace flashmoe::dispatch::backward
