// SPDX-License-Identifier: MIT
#include "dispatch/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "dispatch/problems.h"
#include "kernels/ampere_forward/launch.h"
#include "kernels/forward_params.h"
#include "kernels/hopper_forward/spec.h"

namespace flashmoe::dispatch::plan_test {
namespace {

TEST(Plan, FitsEveryGpuInTheTable) {
  for (const device::Spec& gpu : device::known()) {
    for (DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
      for (int64_t head_dim : {1, 32, 64, 65, 96, 128, 192, 256}) {
        for (int64_t rows : {1, 64, 512, 5000}) {
          for (bool aligned : {false, true}) {
            const auto plan = plan_forward(problem(2, 4, rows, rows, head_dim, dtype), aligned, gpu);
            EXPECT_LE(plan.smem_bytes, gpu.smem_per_block) << gpu.name << " D=" << head_dim;
            EXPECT_GE(plan.head_dim, head_dim);
            EXPECT_GE(plan.blocks, 1U);
          }
        }
      }
    }
  }
}

TEST(Plan, CoversEveryRowOnce) {
  for (int64_t rows : {1, 7, 8, 127, 128, 129, 1000}) {
    for (int64_t group : {1, 3, 8}) {
      ForwardProblem p = problem(3, 2 * group, rows, 777, 64);
      p.kv_heads = 2;
      const auto plan = plan_forward(p, true, device::find("H200"));
      const int64_t tiles = (rows * plan.pack + plan.tile_q - 1) / plan.tile_q;
      EXPECT_EQ(plan.tiles, tiles * p.batch * p.q_heads / plan.pack) << rows << " rows, group of " << group;
      const bool shared = plan.kernel == ForwardKernel::hopper_forward &&
                          kernels::hopper_forward::kTunings[plan.tuning].blocks_per_sm == 1;
      EXPECT_EQ(plan.blocks, shared ? std::min(plan.tiles, 132U) : plan.tiles);
    }
  }
}

TEST(Plan, ScalarKernelTakesWhatTensorCoresCanNot) {
  const auto& gpu = device::find("H200");
  EXPECT_EQ(plan_forward(problem(1, 1, 64, 64, 64, DType::fp32), true, gpu).kernel, ForwardKernel::naive);
  ForwardProblem masked = problem(1, 1, 64, 64, 64);
  masked.attn_mask = true;
  EXPECT_EQ(plan_forward(masked, true, device::find("L4")).kernel, ForwardKernel::ampere_forward);
  EXPECT_EQ(plan_forward(masked, false, device::find("L4")).kernel, ForwardKernel::naive);
  EXPECT_THROW(plan_forward(masked, false, gpu, {.kernel = ForwardKernel::ampere_forward}), Error);
}

TEST(Plan, TensorCoresTakeAnyScale) {
  for (float scale : {0.0F, -1.0F, 1e-40F, 3e38F}) {
    ForwardProblem p = problem(1, 1, 64, 64, 64);
    p.scale = scale;
    EXPECT_EQ(plan_forward(p, true, device::find("L4")).kernel, ForwardKernel::ampere_forward) << scale;
    EXPECT_EQ(plan_forward(p, true, device::find("H200")).kernel, ForwardKernel::hopper_forward) << scale;
    EXPECT_EQ(plan_forward(p, false, device::find("L4")).kernel, ForwardKernel::naive) << scale;
  }
}

TEST(Plan, ScoresThatChangeGoToTheKernelsThatKnowThem) {
  const auto& hopper = device::find("H200");
  std::vector<ForwardProblem> changed(3, problem(2, 16, 8192, 8192, 128));
  changed[0].softcap = 30;
  changed[1].slopes = true;
  changed[2].sinks = true;
  for (ForwardProblem& p : changed) {
    for (const int64_t head_dim : {40, 64, 96, 128, 192, 256}) {
      p.head_dim = head_dim;
      const auto plan = plan_forward(p, true, hopper);
      EXPECT_EQ(plan.kernel, ForwardKernel::hopper_forward);
      EXPECT_TRUE(kernels::hopper_forward::takes_changes(kernels::hopper_forward::kTunings[plan.tuning]));
      EXPECT_EQ(plan.num_splits, 1);
    }
    const std::string text = explain(plan_forward(p, true, hopper), p, hopper);
    EXPECT_NE(text.find("scores: "), std::string::npos) << text;
    EXPECT_EQ(plan_forward(p, false, hopper).kernel, ForwardKernel::naive);
    const auto& ampere = device::find("A100");
    const auto general = plan_forward(p, true, ampere);
    EXPECT_EQ(general.kernel, ForwardKernel::ampere_forward);
    EXPECT_NE(explain(general, p, ampere).find("form: the general one"), std::string::npos);
    EXPECT_EQ(plan_forward(p, false, ampere).kernel, ForwardKernel::naive);
    for (const ForwardKernel other : {ForwardKernel::small_forward, ForwardKernel::decode_forward})
      EXPECT_THROW(plan_forward(p, true, hopper, {.kernel = other}), Error);
  }
  ForwardProblem one_row = problem(1, 8, 1, 8192, 128);  // decoding
  one_row.softcap = 30;
  EXPECT_EQ(plan_forward(one_row, true, hopper).kernel, ForwardKernel::hopper_forward);
  const auto split = plan_forward(one_row, true, device::find("A100"));
  EXPECT_EQ(split.kernel, ForwardKernel::ampere_forward);
  EXPECT_GT(split.num_splits, 1);
}

// What hopper_forward has no form for, the general form of ampere_forward takes on Hopper too.
TEST(Plan, CombinationsGoToTheGeneralForm) {
  const ForwardProblem plain = problem(2, 16, 4096, 4096, 128);
  std::vector<ForwardProblem> combined(5, plain);
  combined[0].softcap = 30;
  combined[0].slopes = true;
  combined[1].slopes = true;
  combined[1].scale = -1;
  combined[2].spans.documents = true;
  combined[2].sinks = true;
  combined[3].spans.first_keys = 4;
  combined[3].window.left = 100;
  combined[4].lengths = {.given = true, .q_packed = true, .k_packed = true, .sequences = 3};
  combined[4].softcap = 30;
  for (const ForwardProblem& p : combined) {
    for (const char* gpu : {"H200", "A100", "L4"}) {
      const auto& spec = device::find(gpu);
      const auto plan = plan_forward(p, true, spec);
      EXPECT_EQ(plan.kernel, ForwardKernel::ampere_forward) << explain(plan, p, spec);
      EXPECT_LE(plan.smem_bytes, spec.smem_per_block);
      EXPECT_NE(explain(plan, p, spec).find("form: the general one, for "), std::string::npos);
      EXPECT_EQ(plan_forward(p, false, spec).kernel, ForwardKernel::naive);
      EXPECT_GE(forward_workspace_bytes(p, spec), plan.workspace_bytes);
    }
    EXPECT_THROW(plan_forward(p, true, device::find("H200"), {.kernel = ForwardKernel::hopper_forward}),
                 Error);
  }
}

TEST(Plan, DropoutGoesToTheGeneralForm) {
  ForwardProblem plain = problem(2, 16, 512, 512, 64);
  plain.dropout = {.p = 0.1F, .seed = 1};
  std::vector<ForwardProblem> dropped(5, plain);
  dropped[1].mask = Mask::causal;
  dropped[1].kv_heads = 4;
  dropped[2].spans.documents = true;
  dropped[3].lengths = {.given = true, .q_packed = true, .k_packed = true, .sequences = 3};
  dropped[4].softcap = 30;
  for (ForwardProblem& p : dropped) {
    for (const char* gpu : {"H200", "A100", "L4"}) {
      const auto& spec = device::find(gpu);
      for (const int64_t head_dim : {40, 64, 128, 256}) {
        p.head_dim = head_dim;
        const auto plan = plan_forward(p, true, spec);
        EXPECT_EQ(plan.kernel, ForwardKernel::ampere_forward) << explain(plan, p, spec);
        EXPECT_EQ(plan.head_dim,
                  kernels::ampere_forward::general_form_for(static_cast<int>(head_dim)).head_dim);
        EXPECT_LE(plan.smem_bytes, spec.smem_per_block);
      }
      const std::string text = explain(plan_forward(p, true, spec), p, spec);
      EXPECT_NE(text.find("form: the general one, for "), std::string::npos) << text;
      EXPECT_NE(text.find("weights left out at random, 10 %"), std::string::npos) << text;
      EXPECT_EQ(plan_forward(p, false, spec).kernel, ForwardKernel::naive);  // rows at any alignment
      for (const ForwardKernel other :
           {ForwardKernel::hopper_forward, ForwardKernel::small_forward, ForwardKernel::decode_forward})
        EXPECT_THROW(plan_forward(p, true, spec, {.kernel = other}), Error);
    }
  }
  EXPECT_STREQ(plan_forward(plain, true, device::find("H200")).reason, "dropout");
  plain.attn_mask = true;
  const auto masked = plan_forward(plain, true, device::find("H200"));
  EXPECT_EQ(masked.kernel, ForwardKernel::ampere_forward);
  EXPECT_EQ(masked.tile_kv, kernels::ampere_forward::pairs_form_for(masked.head_dim).tile_kv);
  plain.attn_mask = false;
  plain.dtype = DType::fp32;
  EXPECT_EQ(plan_forward(plain, true, device::find("H200")).kernel, ForwardKernel::naive);
}

TEST(Plan, ShortSequencesTakeTheLatencyPathWhileOneWaveHoldsThem) {
  const auto& gpu = device::find("H200");
  EXPECT_EQ(plan_forward(problem(1, 1, 128, 128, 64), true, gpu).kernel, ForwardKernel::small_forward);
  EXPECT_EQ(plan_forward(problem(1, 8, 128, 128, 64), true, gpu).kernel, ForwardKernel::small_forward);
  EXPECT_EQ(plan_forward(problem(64, 32, 128, 128, 64), true, gpu).kernel, ForwardKernel::hopper_forward);
  EXPECT_EQ(plan_forward(problem(1, 1, 128, 128, 64), false, gpu).kernel, ForwardKernel::ampere_forward);
}

TEST(Plan, FewRowsAndManyKeysAreSplitUntilTheGpuIsBusy) {
  const auto& gpu = device::find("H200");
  ForwardProblem decode = problem(1, 32, 3, 8192, 128);
  decode.kv_heads = 8;
  const auto plan = plan_forward(decode, true, gpu);
  EXPECT_EQ(plan.pack, 4);
  EXPECT_GT(plan.num_splits, 8);
  EXPECT_GE(plan.workspace_bytes, sizeof(float) * 129 * 32 * 3 * static_cast<std::size_t>(plan.num_splits));
  EXPECT_GE(forward_workspace_bytes(decode, gpu), plan.workspace_bytes);
  EXPECT_EQ(plan_forward(problem(16, 32, 4096, 4096, 128), true, gpu).num_splits, 1);
}

TEST(Plan, SmallForwardGoesOnPastOneWaveWhileItsKeysAreFew) {
  const auto kernel = [](int64_t heads, int64_t rows, int64_t head_dim, const char* gpu) {
    return plan_forward(problem(1, heads, rows, rows, head_dim), true, device::find(gpu)).kernel;
  };
  EXPECT_EQ(kernel(16, 128, 128, "H200"), ForwardKernel::small_forward);
  EXPECT_EQ(kernel(16, 256, 64, "H200"), ForwardKernel::small_forward);
  EXPECT_EQ(kernel(12, 256, 128, "H200"), ForwardKernel::hopper_forward);
  EXPECT_EQ(kernel(12, 256, 128, "A100"), ForwardKernel::small_forward);
  EXPECT_EQ(kernel(64, 256, 64, "A100"), ForwardKernel::ampere_forward);
}

// A block of 128 threads may have no more than 255 registers a thread, though an SM has 512 for each.
TEST(Plan, DecodeOfAThousandKeysTakesTheSmallestBlocksOfALargeCluster) {
  ForwardProblem p = problem(1, 32, 1, 1024, 128);
  p.kv_heads = 8;
  const auto plan = plan_forward(p, true, device::find("H200"));
  EXPECT_EQ(plan.kernel, ForwardKernel::decode_forward);
  EXPECT_EQ(plan.cluster, 8);
  EXPECT_EQ(plan.threads, 128);
  EXPECT_EQ(plan.num_splits, 1);
}

TEST(Plan, DecodeSharesKeysByClustersFirstAndSplitsWhenThatIsNotEnough) {
  const auto decode = [](int64_t batch, int64_t kv_heads, int64_t keys, const char* gpu) {
    ForwardProblem p = problem(batch, 4 * kv_heads, 1, keys, 128);
    p.kv_heads = kv_heads;
    return plan_forward(p, true, device::find(gpu));
  };
  for (int64_t keys : {1024, 8192, 65536}) {
    const auto plan = decode(1, 8, keys, "H200");
    EXPECT_EQ(plan.kernel, ForwardKernel::decode_forward);
    EXPECT_EQ(plan.cluster, 8) << keys;
    EXPECT_EQ(plan.num_splits, 1) << keys;
    EXPECT_EQ(plan.workspace_bytes, 0U);
  }
  EXPECT_GT(decode(1, 2, 30000, "H200").num_splits, 1);
  EXPECT_EQ(decode(32, 8, 8192, "H200").cluster, 1);
  EXPECT_EQ(decode(32, 8, 8192, "H200").num_splits, 1);
  EXPECT_EQ(decode(1, 8, 8192, "L4").cluster, 1);
  EXPECT_GT(decode(1, 8, 8192, "L4").num_splits, 1);
}

// Clusters that wait for a second wave would double the time.
TEST(Plan, ClustersRunInOneWave) {
  const auto& gpu = device::find("H200");
  for (int64_t heads = 1; heads <= 300; ++heads) {
    const auto plan = plan_forward(problem(1, heads, 1, 4096, 128), true, gpu);
    EXPECT_EQ(plan.kernel, ForwardKernel::decode_forward);
    if (plan.cluster == 1) continue;
    const int per_sm = device::blocks_per_sm(gpu, plan.threads, 0, plan.smem_bytes);
    EXPECT_LE(heads * plan.cluster * plan.num_splits, (gpu.sms - plan.cluster) * per_sm) << heads;
  }
}

TEST(Plan, WorkspaceIsEnoughForEitherAlignment) {
  for (const device::Spec& gpu : device::known()) {
    for (int64_t keys : {100, 1000, 10000, 100000}) {
      const ForwardProblem p = problem(1, 4, 3, keys, 100);
      const std::size_t bytes = forward_workspace_bytes(p, gpu);
      for (bool aligned : {false, true}) EXPECT_GE(bytes, plan_forward(p, aligned, gpu).workspace_bytes);
    }
  }
}

TEST(Plan, CausalGridsBeginWithTheLongestTiles) {
  const auto& gpu = device::find("H200");
  ForwardProblem p = problem(2, 16, 8192, 8192, 128);
  EXPECT_FALSE(plan_forward(p, true, gpu).last_first);
  p.mask = Mask::causal;
  const auto plan = plan_forward(p, true, gpu, {.kernel = ForwardKernel::ampere_forward});
  EXPECT_TRUE(plan.last_first);
  // K and V of one head have 4 MB: seven heads fit half of the 60 MB of L2.
  EXPECT_EQ(plan.heads_at_once, 7);
}

TEST(Plan, WindowsGoToTheKernelsThatKnowThem) {
  const auto kernel_on = [](const char* gpu, const ForwardProblem& p, bool aligned = true) {
    return plan_forward(p, aligned, device::find(gpu)).kernel;
  };
  const ForwardProblem small = windowed(problem(1, 8, 128, 128, 64), 10, 0);
  const ForwardProblem decode = windowed(problem(8, 8, 1, 8192, 128), 1023, 0);
  const ForwardProblem large = windowed(problem(2, 16, 8192, 8192, 128), 1023, 0);
  for (const ForwardProblem& p : {small, decode, large}) {
    EXPECT_EQ(kernel_on("H200", p), ForwardKernel::hopper_forward);
    EXPECT_EQ(kernel_on("H200", p, false), ForwardKernel::naive);
    EXPECT_EQ(kernel_on("L4", p), ForwardKernel::ampere_forward);
    EXPECT_EQ(kernel_on("L4", p, false), ForwardKernel::naive);
    for (const ForwardKernel other : {ForwardKernel::small_forward, ForwardKernel::decode_forward}) {
      EXPECT_THROW(plan_forward(p, true, device::find("H200"), {.kernel = other}), Error);
    }
    EXPECT_THROW(plan_forward(p, false, device::find("L4"), {.kernel = ForwardKernel::ampere_forward}),
                 Error);
    const std::string text = explain(plan_forward(p, true, device::find("H200")), p, device::find("H200"));
    EXPECT_NE(text.find("because: a window of keys"), std::string::npos) << text;
    EXPECT_NE(text.find("behind it: a tile walks over at most"), std::string::npos) << text;
  }
  ForwardProblem scalar = large;
  scalar.dtype = DType::fp32;
  EXPECT_EQ(kernel_on("H200", scalar), ForwardKernel::naive);
}

// Rows with a window are as long as that: tiles, shares of the keys and what stays in the cache follow.
TEST(Plan, AWindowCountsForTheKeysThatItShows) {
  const auto& gpu = device::find("H200");
  const ForwardProblem wide = problem(4, 32, 4096, 4096, 64);
  const ForwardProblem narrow = windowed(wide, 1023, 0);
  EXPECT_EQ(plan_forward(narrow, true, gpu).tile_kv, 64);
  EXPECT_EQ(plan_forward(windowed(wide, 4000, 4000), true, gpu).tile_kv, 128);
  EXPECT_EQ(plan_forward(windowed(problem(1, 1, 64, 1 << 20, 128), 1023, 0), true, gpu).num_splits, 2);
  EXPECT_EQ(plan_forward(windowed(problem(1, 1, 1, 1 << 20, 128), 255, 0), true, gpu).num_splits, 1);
  const ForwardPlan long_rows = plan_forward(windowed(problem(2, 16, 8192, 8192, 128), 1023, 0), true, gpu);
  EXPECT_EQ(long_rows.heads_at_once, 32);                        // of which few keys each are in flight
  EXPECT_EQ(plan_forward(narrow, true, gpu).heads_at_once, 64);  // half of all, though 106 would fit
}

TEST(Plan, ProgrammaticLaunchIsNeverOnUnaskedAndOnlyWhereItWorks) {
  const auto& gpu = device::find("H200");
  const ForwardProblem small = problem(1, 8, 128, 128, 64);
  const ForwardProblem large = problem(4, 32, 4096, 4096, 64);
  const auto said = [](const ForwardProblem& p, const device::Spec& spec, bool asked) {
    const auto plan = plan_forward(p, true, spec, {.programmatic = asked});
    return std::pair(plan.programmatic, explain(plan, p, spec));
  };
  for (const ForwardProblem& p : {small, large}) {
    const auto [launch, text] = said(p, gpu, false);
    EXPECT_EQ(launch, ProgrammaticLaunch::off);
    EXPECT_EQ(text.find("programmatic"), std::string::npos) << text;
  }
  const auto [on, on_text] = said(small, gpu, true);
  EXPECT_EQ(on, ProgrammaticLaunch::on);
  EXPECT_NE(on_text.find("programmatic launch: starts while"), std::string::npos) << on_text;
  const auto [kernel, kernel_text] = said(large, gpu, true);
  EXPECT_EQ(kernel, ProgrammaticLaunch::not_by_this_kernel);
  EXPECT_NE(kernel_text.find("only small_forward and unsplit decode_forward can"), std::string::npos)
      << kernel_text;
  const auto [ada, ada_text] = said(problem(1, 1, 128, 128, 64), device::find("L4"), true);
  EXPECT_EQ(ada, ProgrammaticLaunch::not_on_this_gpu);
  EXPECT_NE(ada_text.find("needs compute capability 9.0"), std::string::npos) << ada_text;
}

TEST(Plan, RefusesWhatNoKernelTakes) {
  const auto& gpu = device::find("H200");
  EXPECT_THROW(plan_forward(problem(1, 1, 1, 1, 257), true, gpu), Error);
  EXPECT_THROW(plan_forward(problem(1, 1, int64_t{1} << 31, 1, 64), true, gpu), Error);
  EXPECT_THROW(plan_forward(problem(1, 1, 1, int64_t{1} << 31, 64), true, gpu), Error);
  EXPECT_THROW(plan_forward(problem(int64_t{1} << 20, 1 << 12, 1, 1024, 64), true, gpu), Error);
  device::Spec old = gpu;
  old.arch = 75;
  EXPECT_THROW(plan_forward(problem(1, 1, 1, 1, 64), true, old), Error);
}

// A remedy that is refused too is worse than none: the CPU backend has the same limit (check_forward_test).
TEST(Plan, AdvisesTheCpuOnlyForWhatTheCpuTakes) {
  const auto refusal = [](const ForwardProblem& p, const device::Spec& spec) -> std::string {
    try {
      plan_forward(p, true, spec);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  const std::string too_wide = refusal(problem(1, 1, 1, 1, kMaxHeadDim + 1), device::find("H200"));
  EXPECT_NE(too_wide.find("head_dim is 257; accepted are 1 to 256"), std::string::npos) << too_wide;
  EXPECT_EQ(too_wide.find("try:"), std::string::npos) << too_wide;
  device::Spec old = device::find("H200");
  old.arch = 75;
  const std::string too_old = refusal(problem(1, 1, 1, 1, 64), old);
  EXPECT_NE(too_old.find("device = cpu"), std::string::npos) << too_old;
}

TEST(Plan, SaysWhatItDoesAndWhy) {
  const auto& gpu = device::find("L4");
  const ForwardProblem p = problem(1, 1, 10, 30000, 64);
  const std::string text = explain(plan_forward(p, true, gpu), p, gpu);
  for (const char* part : {"ampere_forward", "because", "splits", "58 SMs", "workspace"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace flashmoe::dispatch::plan_test
