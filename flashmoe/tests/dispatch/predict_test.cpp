// SPDX-License-Identifier: MIT
#include "dispatch/predict.h"

#include <gtest/gtest.h>

namespace flashmoe::dispatch::predict_test {
namespace {

ForwardProblem attention(int64_t batch, int64_t heads, int64_t rows, int64_t head_dim,
                         Mask mask = Mask::none) {
  ForwardProblem p;
  p.batch = batch;
  p.q_heads = p.kv_heads = heads;
  p.q_rows = p.kv_rows = rows;
  p.head_dim = head_dim;
  p.dtype = DType::fp16;
  p.mask = mask;
  p.scale = 0.125F;
  return p;
}

// The case that cost a week: 64 query rows a CTA, S = 128, one head, on an L4.
TEST(PredictForward, SixtyFourRowsACtaLeaveAnL4Idle) {
  const auto problem = attention(1, 1, 128, 64);
  const auto& l4 = device::find("L4");
  const ForwardPlan plan = plan_forward(problem, true, l4, {.kernel = ForwardKernel::naive});
  const Forecast forecast = predict_forward(plan, problem, l4);
  EXPECT_EQ(device::headline(forecast.prediction, l4), "2 CTAs on 58 SMs: 3.4 % of the L4 works");
  const Forecast split = predict_with_splits(plan, problem, l4, 32);
  EXPECT_EQ(split.launch.ctas, 64);
  // What dispatch itself would do uses more of the chip and less time.
  const Forecast chosen = predict_forward(plan_forward(problem, true, l4), problem, l4);
  EXPECT_GT(chosen.prediction.chip_share, forecast.prediction.chip_share);
  EXPECT_LT(chosen.prediction.expected_us, forecast.prediction.expected_us);
}

TEST(PredictForward, CountsWholeTilesAndLeavesMaskedOnesOut) {
  const auto& h200 = device::find("H200");
  const auto full = attention(4, 16, 4096, 128), causal = attention(4, 16, 4096, 128, Mask::causal);
  const Forecast a = predict_forward(plan_forward(full, true, h200), full, h200);
  const Forecast b = predict_forward(plan_forward(causal, true, h200), causal, h200);
  EXPECT_DOUBLE_EQ(a.work.matrix_flops, 4.0 * 4 * 16 * 4096 * 4096 * 128);
  EXPECT_DOUBLE_EQ(a.work.dram_bytes, 4.0 * 4 * 16 * 4096 * 128 * 2);
  EXPECT_GT(b.work.matrix_flops, a.work.matrix_flops / 2);
  EXPECT_LT(b.work.matrix_flops, a.work.matrix_flops * 0.53);  // half, and half a block for each row of tiles
  EXPECT_GT(b.launch.largest, 1.5);
}

TEST(PredictForward, CountsTheKeysOfAWindowAlone) {
  const auto& h200 = device::find("H200");
  auto full = attention(2, 16, 8192, 128), windowed = full;
  windowed.window = {1023, 0};
  const Forecast a = predict_forward(plan_forward(full, true, h200), full, h200);
  const Forecast b = predict_forward(plan_forward(windowed, true, h200), windowed, h200);
  EXPECT_DOUBLE_EQ(b.work.matrix_flops, a.work.matrix_flops * 540 / 4096);  // blocks of 128 x 128
  EXPECT_LT(b.prediction.expected_us, a.prediction.expected_us / 4);
  auto decode = attention(8, 8, 1, 128);
  decode.kv_rows = 65536;
  decode.window = {1023, 0};
  const Forecast c = predict_forward(plan_forward(decode, true, h200), decode, h200);
  EXPECT_LT(c.work.dram_bytes, 1.1 * 8 * 8 * 1024 * 128 * 4);
}

TEST(PredictForward, WarmInputsAreNotReadFromMemory) {
  auto decode = attention(1, 8, 1, 128);
  decode.q_heads = 32;
  decode.kv_rows = 8192;
  const auto& h200 = device::find("H200");
  const ForwardPlan plan = plan_forward(decode, true, h200);
  const Forecast cold = predict_forward(plan, decode, h200),
                 warm = predict_forward(plan, decode, h200, Cache::warm);
  EXPECT_EQ(warm.work.dram_bytes, 0);
  EXPECT_LT(warm.prediction.expected_us, cold.prediction.expected_us);
  decode.kv_rows = 1 << 20;  // far more than the L2 cache holds
  const ForwardPlan large = plan_forward(decode, true, h200);
  EXPECT_GT(predict_forward(large, decode, h200, Cache::warm).work.dram_bytes, 0);
}

TEST(PredictForward, EveryPlanOnEveryGpuFitsAndHasATime) {
  for (const device::Spec& gpu : device::known()) {
    for (const int64_t rows : {1, 37, 128, 577, 8192}) {
      for (const int64_t head_dim : {40, 64, 96, 128, 256}) {
        for (const Mask mask : {Mask::none, Mask::causal}) {
          const auto problem = attention(2, 3, rows, head_dim, mask);
          const ForwardPlan plan = plan_forward(problem, true, gpu);
          const Forecast f = predict_forward(plan, problem, gpu);
          ASSERT_TRUE(f.prediction.fits)
              << gpu.name << " " << name_of(plan.kernel) << " " << rows << " " << head_dim;
          ASSERT_GT(f.prediction.expected_us, 0.5);
          ASSERT_LT(f.prediction.expected_us, 1e5);
        }
      }
    }
  }
}

}  // namespace
}  // namespace flashmoe::dispatch::predict_test
