// SPDX-License-Identifier: MIT
// As few launches of as few blocks as go through every barrier of every kernel: compute-sanitizer's racecheck
// and synccheck follow each access, and take a thousand times as long as the GPU (`make gpu-sanitize`).
#include <gtest/gtest.h>

#include "device/probe.h"
#include "gpu/on_gpu.h"
#include "kernels/decode_forward/spec.h"
#include "kernels/hopper_forward/spec.h"

namespace flashmoe::test::races_test {
namespace {

using dispatch::ForwardKernel;

TEST(GpuRaces, PlainKernels) {
  SKIP_WITHOUT_GPU();
  EXPECT_RUNS_ON_GPU({.q_rows = 20, .kv_rows = 70, .dtype = DType::fp32}, {.kernel = ForwardKernel::naive});
  for (int64_t head_dim : {64, 128, 256}) {  // eager, lazy, and with the fewest rows
    EXPECT_RUNS_ON_GPU(
        {.q_rows = 70, .kv_rows = 200, .head_dim = head_dim, .dtype = DType::fp16, .mask = Mask::causal},
        {.kernel = ForwardKernel::ampere_forward, .num_splits = 1});
  }
  EXPECT_RUNS_ON_GPU({.q_rows = 20, .kv_rows = 200, .head_dim = 44, .dtype = DType::fp16},
                     {.kernel = ForwardKernel::ampere_forward, .num_splits = 2});
  EXPECT_RUNS_ON_GPU({.q_rows = 20, .kv_rows = 100, .dtype = DType::fp16},
                     {.kernel = ForwardKernel::small_forward});
}

TEST(GpuRaces, Decode) {
  SKIP_WITHOUT_GPU();
  for (int tuning = 0; tuning < kernels::decode::kNumTunings; tuning += 4) {
    const kernels::decode::Tuning& t = kernels::decode::kTunings[tuning];
    if (t.cluster > device::probe().max_cluster || t.smem_bytes() > device::probe().smem_per_block) continue;
    EXPECT_RUNS_ON_GPU({.q_heads = 4,
                        .kv_heads = 1,
                        .q_rows = 1,
                        .kv_rows = t.cluster * t.warps * t.block_keys - 21,
                        .head_dim = t.head_dim,
                        .dtype = DType::bf16},
                       {.kernel = ForwardKernel::decode_forward, .num_splits = 1, .tuning = tuning});
  }
}

TEST(GpuRaces, Hopper) {
  SKIP_WITHOUT_GPU();
  if (device::probe().arch != 90) GTEST_SKIP() << "hopper_forward needs compute capability 9.0";
  for (int tuning = 0; tuning < kernels::hopper_forward::kNumTunings; ++tuning) {
    const kernels::hopper_forward::Tuning& t = kernels::hopper_forward::kTunings[tuning];
    EXPECT_RUNS_ON_GPU({.q_rows = t.tile_q() + 3,
                        .kv_rows = (t.stages + 1) * t.tile_kv + 5,
                        .head_dim = t.head_dim,
                        .dtype = DType::bf16,
                        .mask = Mask::causal},
                       {.kernel = ForwardKernel::hopper_forward, .tuning = tuning});
    if (!t.runs) continue;
    EXPECT_RUNS_ON_GPU({.q_rows = t.tile_q() + 3,
                        .kv_rows = (t.stages + 2) * t.tile_kv + 5,
                        .head_dim = t.head_dim,
                        .dtype = DType::bf16,
                        .window = {2 * t.tile_kv + 40, 10}},
                       {.kernel = ForwardKernel::hopper_forward, .tuning = tuning});
  }
}

}  // namespace
}  // namespace flashmoe::test::races_test
