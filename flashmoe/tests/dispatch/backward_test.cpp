// SPDX-License-Identifier: MIT
// How gradients are planned, on GPUs that need not be here.
#include "dispatch/backward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <random>
#include <set>
#include <vector>

#include "flashmoe/error.h"
#include "kernels/ampere_backward/spec.h"
#include "kernels/forward_params.h"

namespace flashmoe::dispatch::backward::backward_test {
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
  EXPECT_EQ(plan(problem(513, 128)).workspace_bytes, static_cast<std::size_t>(4 * rows * (128 + 2) + 4));
  // And one counter per 4096 sums.
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

// The mean work of an SM over the time of all, where blocks begin in the grid's order, each where an SM has
// become free.
double evenness(const BackwardPlan& found, const ForwardProblem& p, int sms,
                const std::function<int64_t(int key_tile)>& work_of) {
  const kernels::TileOrder order(found.key_tiles, static_cast<int>(p.kv_heads), static_cast<int>(p.batch),
                                 found.heads_at_once, found.last_first);
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> free_at(
      std::greater<>(), std::vector<int64_t>(static_cast<std::size_t>(sms)));
  int64_t sum = 0, longest = 0, end = 0;
  const auto blocks = static_cast<uint32_t>(order.q_tiles * order.heads * order.batch);
  for (uint32_t block = 0; block < blocks; ++block) {
    const int64_t work = work_of(order.tile(block).q_tile);
    sum += work;
    longest = std::max(longest, work);
    const int64_t done = free_at.top() + work;
    free_at.pop();
    free_at.push(done);
    end = std::max(end, done);
  }
  return std::max(static_cast<double>(sum) / sms, static_cast<double>(longest)) / static_cast<double>(end);
}

TEST(BackwardPlan, CausalWorkIsSharedOutEvenly) {
  struct Case {
    int64_t batch, kv_heads, group, rows, head_dim;
  };
  const int sms = device::find("H200").sms;
  for (const Case& c : {Case{1, 8, 4, 4096, 64},
                        {1, 8, 4, 4096, 128},
                        {1, 8, 4, 8192, 128},
                        {2, 8, 4, 8192, 128},
                        {8, 8, 4, 2048, 128},
                        {1, 16, 1, 4096, 128},
                        {4, 16, 1, 4096, 128},
                        {2, 16, 1, 8192, 128},
                        {1, 16, 1, 16384, 128},
                        {8, 32, 1, 2048, 64},
                        {1, 12, 4, 6144, 128},
                        {1, 40, 1, 5000, 128}}) {
    ForwardProblem p = problem(c.rows, c.head_dim, Mask::causal);
    p.batch = c.batch;
    p.kv_heads = c.kv_heads;
    p.q_heads = c.kv_heads * c.group;
    const BackwardPlan found = plan(p);
    EXPECT_GT(evenness(found, p, sms, [&](int key_tile) { return found.key_tiles - key_tile; }), 0.94)
        << c.rows << " rows, " << p.batch * p.kv_heads << " heads";
  }
}

TEST(BackwardPlan, WorkOfDocumentsIsSharedOutEvenly) {
  const device::Spec gpu = device::find("H200");
  std::mt19937 random(1);
  for (int round = 0; round < 8; ++round) {
    ForwardProblem p = problem(8192, 128, Mask::causal);
    p.batch = 2;
    p.q_heads = p.kv_heads = 16;
    p.spans.documents = true;
    std::set<int64_t> ends{p.kv_rows};
    while (ends.size() < 16) ends.insert(1 + static_cast<int64_t>(random() % 8191));
    const BackwardPlan found = plan(p);
    // Of a tile's keys the last sees furthest; beside its steps, of 64 queries, a tile costs as much as 2.7.
    const auto tenths_of_steps = [&](int key_tile) {
      const int64_t last_key = std::min<int64_t>((key_tile + 1) * int64_t{found.tile_kv}, p.kv_rows) - 1;
      const int64_t end = *ends.upper_bound(last_key);
      return 27 + 10 * ((end + 63) / 64 - key_tile * int64_t{found.tile_kv} / 64);
    };
    EXPECT_GT(evenness(found, p, gpu.sms, tenths_of_steps), 0.94) << "round " << round;
  }
}

// What the kernels' turns count on: later keys have lower numbers.
TEST(BackwardPlan, DeterministicOrderHasLaterKeysFirst) {
  for (Mask mask : {Mask::none, Mask::causal}) {
    EXPECT_TRUE(plan(problem(4096, 128, mask), true).last_first);
  }
}

// Blocks that wait for one another at first leave their places in the order in which the next heads begin.
TEST(BackwardPlan, DeterministicFullRowsHaveAsManyHeadsSideBySideAsFit) {
  const int sms = device::find("H200").sms;
  EXPECT_EQ(plan(problem(4096, 128), true).heads_at_once, sms / 32);
  EXPECT_EQ(plan(problem(4096, 256), true).heads_at_once, sms / 64);
  EXPECT_EQ(plan(problem(65536, 128), true).heads_at_once, 1);
  EXPECT_EQ(plan(problem(4096, 128, Mask::causal), true).heads_at_once, 1);
}

TEST(BackwardPlan, WindowsGoToTheKernelsThatKnowThem) {
  for (const Mask mask : {Mask::none, Mask::causal}) {
    ForwardProblem p = problem(4096, 128, mask);
    p.window = {1023, 0};
    EXPECT_EQ(plan(p).kernel, BackwardKernel::hopper_backward);
    EXPECT_EQ(plan(p).heads_at_once, 1);  // its tiles are all as long, and share Q and dO
    EXPECT_EQ(plan(p, true).heads_at_once, 1);
    EXPECT_TRUE(plan(p, true).last_first);
    EXPECT_EQ(plan_backward(p, {true, false}, device::find("H200"), false).kernel,
              BackwardKernel::ampere_backward);
    EXPECT_EQ(plan_backward(p, true, device::find("L4"), false).kernel, BackwardKernel::ampere_backward);
    EXPECT_EQ(plan_backward(p, false, device::find("L4"), false).kernel, BackwardKernel::naive_backward);
  }
}

TEST(BackwardPlan, EveryGpuHasItsKernel) {
  for (int64_t head_dim : {8, 64, 128, 256}) {
    const ForwardProblem p = problem(512, head_dim, Mask::causal);
    EXPECT_EQ(plan(p).kernel, BackwardKernel::hopper_backward);
    for (const char* gpu : {"A100 40GB", "L4", "RTX 4090"}) {
      const device::Spec spec = device::find(gpu);
      const BackwardPlan there = plan_backward(p, true, spec, false);
      EXPECT_EQ(there.kernel, BackwardKernel::ampere_backward);
      EXPECT_LE(there.smem_bytes, spec.smem_per_block);
      EXPECT_GE(there.head_dim, head_dim);
    }
  }
}

// Every row of ampere_backward's table is some GPU's.
TEST(BackwardPlan, EveryRowOfAmpereIsTaken) {
  namespace ampere = kernels::ampere_backward;
  std::set<int> taken;
  for (int64_t head_dim : {64, 128, 256}) {
    for (const char* gpu : {"A100 40GB", "L4"}) {
      const BackwardPlan there = plan_backward(problem(512, head_dim), true, device::find(gpu), false);
      EXPECT_EQ(there.head_dim, head_dim);
      taken.insert(there.tuning);
    }
  }
  EXPECT_EQ(taken.size(), static_cast<std::size_t>(ampere::kNumTunings));
}

// TMA takes no stride of 0; vectors of 16 bytes do.
TEST(BackwardPlan, StridesThatTmaDoesNotTakeGoToAmpere) {
  const auto there = plan_backward(problem(512, 64), Addressing(true, false), device::find("H200"), false);
  EXPECT_EQ(there.kernel, BackwardKernel::ampere_backward);
}

TEST(BackwardPlan, WhatTensorCoresDoNotTakeGoesToNaive) {
  ForwardProblem fp32 = problem(512, 64);
  fp32.dtype = DType::fp32;
  EXPECT_EQ(plan(fp32).kernel, BackwardKernel::naive_backward);
  EXPECT_EQ(plan(problem(512, 60)).kernel, BackwardKernel::naive_backward);
  EXPECT_EQ(plan_backward(problem(512, 64), false, device::find("L4"), true).kernel,
            BackwardKernel::naive_backward);
  EXPECT_EQ(plan(fp32).workspace_bytes, 0U);
}

// One row of the table for each head_dim, which fits every GPU; on Hopper only where hopper_backward has no
// form.
TEST(BackwardPlan, WhatOtherFormsDoNotTakeGoesToTheGeneralOne) {
  const auto capped = [](ForwardProblem p) { return p.softcap = 3, p; };
  const auto sloped = [](ForwardProblem p) { return p.slopes = true, p; };
  const auto spans = [](ForwardProblem p) { return p.spans.documents = true, p; };
  const auto first_keys = [](ForwardProblem p) { return p.spans.first_keys = 4, p; };
  const auto lengths = [](ForwardProblem p) {
    return p.lengths = {.given = true, .q_packed = true, .k_packed = true, .sequences = 3}, p;
  };
  const auto dropped = [](ForwardProblem p) { return p.dropout.p = 0.1F, p; };
  const auto tensor = [](ForwardProblem p) { return p.attn_mask = true, p; };
  struct Case {
    ForwardProblem problem;
    bool by_hopper;  // where there is one
    bool in_order;   // whether the general form has sums in a fixed order
  };
  for (const int64_t head_dim : {8, 64, 72, 128, 256}) {
    const ForwardProblem p = problem(512, head_dim, Mask::causal);
    for (const Case& c :
         {Case{capped(p), true, true}, Case{sloped(p), true, true}, Case{spans(p), true, true},
          Case{capped(sloped(p)), false, true}, Case{capped(spans(p)), false, true},
          Case{first_keys(p), false, false}, Case{lengths(p), true, true},
          Case{sloped(lengths(p)), false, true}, Case{dropped(p), false, true},
          Case{dropped(capped(spans(p))), false, true}, Case{dropped(lengths(p)), false, true},
          Case{tensor(p), true, true}, Case{tensor(capped(spans(p))), false, true},
          Case{tensor(first_keys(p)), false, false}, Case{tensor(dropped(p)), false, true}}) {
      for (const char* gpu : {"A100 40GB", "L4", "H200"}) {
        const device::Spec spec = device::find(gpu);
        const bool by_hopper = c.by_hopper && spec.arch == 90;
        const BackwardPlan there = plan_backward(c.problem, true, spec, false);
        EXPECT_EQ(there.kernel,
                  by_hopper ? BackwardKernel::hopper_backward : BackwardKernel::ampere_backward);
        EXPECT_EQ(there.general, !by_hopper);
        if (by_hopper) continue;
        EXPECT_LE(there.smem_bytes, 99 * 1024);
        EXPECT_GE(there.head_dim, head_dim);
        EXPECT_TRUE(kernels::ampere_backward::is_general(there.tuning));
        EXPECT_EQ(plan_backward(c.problem, true, spec, true).kernel,
                  c.in_order ? BackwardKernel::ampere_backward : BackwardKernel::naive_backward);
        EXPECT_EQ(plan_backward(c.problem, false, spec, false).kernel, BackwardKernel::naive_backward);
      }
    }
    // Plain problems have plain forms.
    EXPECT_FALSE(plan_backward(p, true, device::find("L4"), false).general);
  }
  // Rows of the table that the general form does not have.
  EXPECT_THROW(plan_backward(capped(problem(512, 64)), true, device::find("H200"), false,
                             {.kernel = BackwardKernel::ampere_backward, .tuning = 0}),
               Error);
}

TEST(BackwardPlan, WhatNoFormTakesGoesToNaiveAndSaysWhy) {
  for (const char* gpu : {"L4", "H200"}) {
    const device::Spec spec = device::find(gpu);
    ForwardProblem tensor = problem(512, 64);
    tensor.attn_mask = true;
    const auto expect_naive = [&](const ForwardProblem& p, bool deterministic, const char* why) {
      const BackwardPlan there = plan_backward(p, true, spec, deterministic);
      EXPECT_EQ(there.kernel, BackwardKernel::naive_backward);
      EXPECT_NE(std::string(there.reason).find(why), std::string::npos) << there.reason;
    };
    ForwardProblem first_keys = tensor, fp32 = tensor, odd = tensor;
    first_keys.spans.first_keys = 4;
    expect_naive(first_keys, true, "first keys");
    fp32.dtype = DType::fp32;
    expect_naive(fp32, false, "fp32");
    odd.head_dim = 60;
    expect_naive(odd, false, "16 bytes");
  }
}

TEST(BackwardPlan, WorkspaceIsEnoughForAnyAlignment) {
  for (const char* gpu : {"H200", "L4"}) {
    for (bool deterministic : {false, true}) {
      const device::Spec spec = device::find(gpu);
      const std::size_t bytes = backward_workspace_bytes(problem(300, 96), spec, deterministic);
      for (const Addressing addressing : {Addressing(true, true), Addressing(true, false), Addressing(false)})
        EXPECT_LE(plan_backward(problem(300, 96), addressing, spec, deterministic).workspace_bytes, bytes);
    }
  }
}

TEST(BackwardPlan, DoesAsAsked) {
  namespace ampere = kernels::ampere_backward;
  const device::Spec h200 = device::find("H200");
  for (int tuning = 0; tuning < ampere::kNumTunings; ++tuning) {
    const int64_t head_dim = ampere::kTunings[tuning].head_dim;
    const BackwardPlan asked = plan_backward(problem(512, head_dim), true, h200, false,
                                             {.kernel = BackwardKernel::ampere_backward, .tuning = tuning});
    EXPECT_EQ(asked.kernel, BackwardKernel::ampere_backward);
    EXPECT_EQ(asked.tuning, tuning);
    EXPECT_EQ(asked.head_dim, head_dim);
  }
  const BackwardChoice naive{.kernel = BackwardKernel::naive_backward};
  EXPECT_EQ(plan_backward(problem(512, 64), true, h200, false, naive).kernel, BackwardKernel::naive_backward);
}

TEST(BackwardPlan, RefusesWhatNoKernelTakes) {
  EXPECT_THROW(plan(problem(512, 264)), Error);
  const device::Spec h200 = device::find("H200");
  const BackwardChoice ampere{.kernel = BackwardKernel::ampere_backward};
  EXPECT_THROW(plan_backward(problem(512, 60), true, h200, false, ampere), Error);
  EXPECT_THROW(plan_backward(problem(512, 64), false, h200, false, ampere), Error);
  EXPECT_THROW(plan_backward(problem(512, 128), true, h200, false,
                             {.kernel = BackwardKernel::ampere_backward, .tuning = 0}),
               Error);
  EXPECT_THROW(plan_backward(problem(512, 64), true, device::find("L4"), false,
                             {.kernel = BackwardKernel::hopper_backward}),
               Error);
  device::Spec old = device::find("L4");
  old.arch = 75;
  EXPECT_THROW(plan_backward(problem(512, 64), true, old, false), Error);
}

}  // namespace
}  // namespace flashmoe::dispatch::backward::backward_test
