// SPDX-License-Identifier: MIT
// How hopper_forward's tiles are chosen and shared out.
#include "dispatch/hopper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "dispatch/problems.h"
#include "flashmoe/error.h"
#include "kernels/forward_params.h"

namespace flashmoe::dispatch::hopper_test {
namespace {

TEST(HopperPlan, TakesLargeProblemsOfItsOwnGpus) {
  const ForwardProblem large = problem(4, 16, 4096, 4096, 128);
  const auto& h200 = device::find("H200");
  const auto plan = plan_forward(large, true, h200);
  EXPECT_EQ(plan.kernel, ForwardKernel::hopper_forward);
  EXPECT_EQ(plan.blocks, 132U);
  EXPECT_EQ(plan.tiles, 4U * 16 * 32);
  EXPECT_NE(explain(plan, large, h200).find("132 blocks that share 2048 tiles"), std::string::npos);
  for (const char* other : {"A100", "L4"}) {
    EXPECT_EQ(plan_forward(large, true, device::find(other)).kernel, ForwardKernel::ampere_forward);
    EXPECT_THROW(plan_forward(large, true, device::find(other), {.kernel = ForwardKernel::hopper_forward}),
                 Error);
  }
  device::Spec without_code = h200;  // a build that leaves sm_90a out
  without_code.max_cluster = 1;
  EXPECT_EQ(plan_forward(large, true, without_code).kernel, ForwardKernel::ampere_forward);
}

TEST(HopperPlan, SaysWhyItDoesNotTakeAProblem) {
  const ForwardProblem large = problem(4, 16, 4096, 4096, 128);
  const auto& gpu = device::find("H200");
  const auto why = [&](Addressing addressing) {
    return std::string(plan_forward(large, addressing, gpu).reason);
  };
  EXPECT_NE(why({false, false}).find("multiples of 16 bytes"), std::string::npos);
  EXPECT_NE(why({true, false}).find("strides that TMA does not take"), std::string::npos);
  EXPECT_THROW(plan_forward(large, Addressing(true, false), gpu, {.kernel = ForwardKernel::hopper_forward}),
               Error);
  // Rows of 125 elements, 256 bytes apart: a TMA store would write 3 more.
  const ForwardProblem odd = problem(4, 16, 4096, 4096, 125);
  EXPECT_EQ(plan_forward(odd, true, gpu).kernel, ForwardKernel::ampere_forward);
  EXPECT_NE(std::string(plan_forward(odd, true, gpu).reason).find("whole pieces"), std::string::npos);
  EXPECT_THROW(plan_forward(odd, true, gpu, {.kernel = ForwardKernel::hopper_forward}), Error);
}

TEST(HopperPlan, PacksHeadsWhereTilesWouldBeMostlyEmpty) {
  const auto& gpu = device::find("H200");
  const auto pack = [&](int64_t rows, int64_t group) {
    ForwardProblem p = problem(8, 8 * group, rows, 4096, 128);
    p.kv_heads = 8;
    return plan_forward(p, true, gpu, {.kernel = ForwardKernel::hopper_forward}).pack;
  };
  EXPECT_EQ(pack(16, 8), 8);
  EXPECT_EQ(pack(4096, 8), 1);
  EXPECT_EQ(pack(16, 7), 1);  // 64 rows are no multiple of 7
}

TEST(HopperPlan, SharesOutTheKeysOfFewTiles) {
  const auto& gpu = device::find("H200");
  const auto plan = plan_forward(problem(1, 1, 64, 1 << 20, 128), true, gpu);
  EXPECT_EQ(plan.kernel, ForwardKernel::hopper_forward);
  EXPECT_EQ(plan.num_splits, kMaxSplits);  // though 132 SMs could each have a share
  EXPECT_GT(plan.workspace_bytes, 0U);
  EXPECT_EQ(plan_forward(problem(1, 16, 2048, 2048, 128), true, gpu).num_splits, 1);
}

// How even the shares of work are that hopper_forward's blocks get: the mean over the largest.
double evenness(const ForwardPlan& plan, const ForwardProblem& p, int sms) {
  const kernels::TileOrder order(static_cast<int>((p.q_rows + plan.tile_q - 1) / plan.tile_q),
                                 static_cast<int>(p.q_heads), static_cast<int>(p.batch), plan.heads_at_once,
                                 plan.last_first);
  std::vector<double> work(static_cast<std::size_t>(sms));
  for (unsigned number = 0; number < plan.tiles; ++number) {
    const unsigned round = number / plan.blocks, place = number % plan.blocks;
    const int64_t end = std::min<int64_t>((order.tile(number).q_tile + 1) * plan.tile_q, p.q_rows);
    const int64_t first_key = p.visible(order.tile(number).q_tile * int64_t{plan.tile_q}).begin;
    const double blocks_of_keys = std::ceil(static_cast<double>(p.visible(end - 1).end) / plan.tile_kv) -
                                  static_cast<double>(first_key / plan.tile_kv);
    work[round % 2 == 0 ? place : plan.blocks - 1 - place] += blocks_of_keys + 1.5;  // what any tile costs
  }
  const double sum = std::accumulate(work.begin(), work.end(), 0.0);
  return sum / sms / *std::max_element(work.begin(), work.end());
}

// K and V of one head at a time stay in the cache where that is enough work for all.
TEST(HopperPlan, KeepsALongHeadInTheCache) {
  ForwardProblem p = problem(1, 64, 32768, 32768, 128);
  p.kv_heads = 8;
  p.mask = Mask::causal;
  const auto& gpu = device::find("H200");
  const auto plan = plan_forward(p, true, gpu);
  EXPECT_EQ(plan.heads_at_once, 8);
  EXPECT_GE(evenness(plan, p, gpu.sms), 0.98);
}

// Where several heads' K and V fit the cache, a group of about as many that is even.
TEST(HopperPlan, KeepsGroupsOfHeadsInTheCache) {
  const auto& gpu = device::find("H200");
  for (const auto& [rows, group] : {std::pair<int64_t, int>{2048, 22}, {4096, 11}, {8192, 6}}) {
    ForwardProblem p = problem(4, 48, rows, rows, 128);
    p.mask = Mask::causal;
    const auto plan = plan_forward(p, true, gpu);
    EXPECT_EQ(plan.heads_at_once, group) << rows;
    EXPECT_GE(evenness(plan, p, gpu.sms), 0.98) << rows;
  }
}

TEST(HopperPlan, SharesOutCausalWorkEvenly) {
  const auto& gpu = device::find("H200");
  for (int64_t head_dim : {64, 128, 256}) {
    for (int64_t rows : {512, 1024, 2048, 4096, 8192, 16384}) {
      ForwardProblem p = problem(16384 / rows, 2048 / head_dim, rows, rows, head_dim);
      p.mask = Mask::causal;
      const auto plan = plan_forward(p, true, gpu, {.kernel = ForwardKernel::hopper_forward});
      if (plan.blocks == plan.tiles) continue;  // the GPU's own scheduler shares those out
      EXPECT_GE(evenness(plan, p, gpu.sms), rows < 4096 ? 0.92 : 0.97) << "D=" << head_dim << " S=" << rows;
    }
  }
}

TEST(HopperPlan, SharesOutWindowedWorkEvenly) {
  const auto& gpu = device::find("H200");
  for (const int64_t head_dim : {128, 256}) {
    for (const Window window : {Window{1023, 0}, Window{4095, 0}, Window{500, 500},
                                Window{300, Window::kUnlimited}, Window{Window::kUnlimited, 9}}) {
      const ForwardProblem p =
          windowed(problem(2, 2048 / head_dim, 8192, 8192, head_dim), window.left, window.right);
      const auto plan = plan_forward(p, true, gpu);
      ASSERT_LT(plan.blocks, plan.tiles);
      EXPECT_GE(evenness(plan, p, gpu.sms), 0.93)
          << "D=" << head_dim << " window " << window.left << ", " << window.right;
    }
  }
}

}  // namespace
}  // namespace flashmoe::dispatch::hopper_test
