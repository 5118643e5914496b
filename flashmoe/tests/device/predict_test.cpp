// SPDX-License-Identifier: MIT
#include "device/predict.h"

#include <gtest/gtest.h>

#include <cmath>

namespace flashmoe::device::predict_test {
namespace {

double of(const std::array<double, kUnits>& times, Unit unit) {
  return times[static_cast<std::size_t>(unit)];
}

Launch grid(int64_t ctas) {
  return {.ctas = ctas, .block = {.threads = 128, .registers = 64, .smem_bytes = 0}};
}

TEST(Predict, TwoCtasAreThreeAndAHalfPercentOfAnL4) {
  const Prediction p = predict_plain(find("L4"), grid(2), {.matrix_flops = 4e6});
  EXPECT_EQ(p.busy_sms, 2);
  EXPECT_NEAR(p.chip_share, 2.0 / 58, 1e-12);
  EXPECT_EQ(headline(p, find("L4")), "2 CTAs on 58 SMs: 3.4 % of the L4 works");
  EXPECT_LT(p.waves, 1);
  // Units of the SMs need 29 times as long as the whole chip would.
  EXPECT_NEAR(of(p.busy_floor_us, Unit::tensor), 29 * of(p.floor_us, Unit::tensor), 1e-9);
}

TEST(Predict, OneCtaTooManyIsAnotherRound) {
  const Spec& h200 = find("H200");
  const Work work{.matrix_flops = 1e12};
  const Prediction even = predict_plain(h200, grid(132), work), uneven = predict_plain(h200, grid(133), work);
  EXPECT_DOUBLE_EQ(even.chip_share, 1);
  EXPECT_NEAR(uneven.chip_share, 133.0 / 264, 1e-12);
  EXPECT_GT(uneven.expected_us, 1.9 * even.expected_us);
}

TEST(Predict, UnevenPiecesTakenLongestFirstFillTheGaps) {
  const Spec& h200 = find("H200");
  Launch causal = grid(133);
  causal.largest = 1.9;
  EXPECT_NEAR(predict_plain(h200, causal, {.matrix_flops = 1e12}).chip_share, 133.0 / (1.9 * 132), 1e-12);
  causal.ctas = 1320;
  EXPECT_NEAR(predict_plain(h200, causal, {.matrix_flops = 1e12}).chip_share, 1, 1e-12);
}

TEST(Predict, ResidentCtasThatTakeSeveralPiecesAreCountedByPieces) {
  Launch persistent = grid(132);
  persistent.items = 133;
  EXPECT_NEAR(predict_plain(find("H200"), persistent, {.matrix_flops = 1e12}).chip_share, 133.0 / 264, 1e-12);
}

TEST(Predict, NamesTheUnitThatDominates) {
  const Spec& h200 = find("H200");
  EXPECT_EQ(predict_plain(h200, grid(13200), {.matrix_flops = 1e13}).dominating, Unit::tensor);
  EXPECT_EQ(predict_plain(h200, grid(13200), {.fp32_flops = 1e12}).dominating, Unit::fp32);
  EXPECT_EQ(predict_plain(h200, grid(13200), {.exps = 1e11}).dominating, Unit::exp);
  EXPECT_EQ(predict_plain(h200, grid(13200), {.dram_bytes = 1e11}).dominating, Unit::dram);
  EXPECT_EQ(predict_plain(h200, grid(13200), {.dram_bytes = 1e6, .l2_bytes = 1e12}).dominating, Unit::l2);
  EXPECT_EQ(predict_plain(h200, grid(1), {.dram_bytes = 1}).dominating, Unit::launch);
}

TEST(Predict, NothingIsFasterThanItsFloorsAndTheRangeHoldsTheExpectation) {
  for (const Spec& spec : known()) {
    for (const int64_t ctas : {1, 57, 133, 4096, 100000}) {
      for (const double flops : {0.0, 1e6, 1e13}) {
        for (const double bytes : {1e3, 1e8}) {
          const Prediction p = predict_plain(
              spec, grid(ctas), {.matrix_flops = flops, .exps = flops / 256, .dram_bytes = bytes});
          ASSERT_TRUE(std::isfinite(p.expected_us));
          for (const double floor : p.floor_us) ASSERT_GE(p.expected_us, floor);
          for (const double floor : p.busy_floor_us) ASSERT_GE(p.least_us, floor);
          ASSERT_GE(p.low_us, p.least_us);
          ASSERT_GE(p.expected_us, p.low_us);
          ASSERT_GE(p.high_us, p.expected_us);
          ASSERT_GT(p.chip_share, 0);
          ASSERT_LE(p.chip_share, 1);
        }
      }
    }
  }
}

TEST(Predict, OneSmAloneDrawsOnlySoMuchFromMemory) {
  const Prediction one = predict_plain(find("H200"), grid(1), {.dram_bytes = 7e6});
  EXPECT_NEAR(of(one.busy_floor_us, Unit::dram), 100, 1e-6);  // 70 GB/s
}

// 33.5 MB by 16,384 CTAs: while some wait for memory, others on the same SM work. Their waiting does not add
// up.
TEST(Predict, ResidentCtasHideEachOthersWaiting) {
  const Launch copy{.ctas = 16384, .block = {.threads = 256, .registers = 16, .smem_bytes = 0}};
  const Prediction p = predict_plain(find("H200"), copy, {.dram_bytes = 33.5e6});
  EXPECT_GT(p.expected_us, 14.0 / 1.5);
  EXPECT_LT(p.expected_us, 14.0 * 1.5);
  EXPECT_EQ(p.dominating, Unit::dram);
}

TEST(Predict, AThreadThatWaitsOftenIsSlowHoweverLittleItReads) {
  Launch launch = grid(132);
  launch.trips = 1;
  const double once = predict_plain(find("H200"), launch, {.dram_bytes = 1e5}).expected_us;
  launch.trips = 100;
  EXPECT_GT(predict_plain(find("H200"), launch, {.dram_bytes = 1e5}).expected_us, 10 * once);
}

TEST(Predict, ABlockThatFitsNoSmIsSaidSo) {
  Launch launch = grid(100);
  launch.block.smem_bytes = 100 * 1024;
  EXPECT_FALSE(predict_plain(find("L4"), launch, {.matrix_flops = 1e9}).fits);
  EXPECT_TRUE(predict_plain(find("H200"), launch, {.matrix_flops = 1e9}).fits);
  const Spec& h200 = find("H200");
  EXPECT_EQ(refusal(h200, {.threads = 2048, .registers = 32}), "2048 threads; a block may have 1024");
  EXPECT_EQ(refusal(h200, {.threads = 256, .registers = 300}), "300 registers; a thread may have 255");
  EXPECT_EQ(refusal(h200, {.threads = 1024, .registers = 128}),
            "128 registers in each of 1024 threads; they may have 64");
  EXPECT_EQ(refusal(find("L4"), launch.block), "102400 bytes of shared memory; a block may have 101376");
  EXPECT_EQ(refusal(h200, launch.block), "");
}

TEST(Predict, ClustersThatDoNotFillAGpuLeaveSmsIdle) {
  Launch launch = grid(132);
  launch.cluster = 8;  // 16 clusters of 8: 128 SMs at a time
  EXPECT_LT(predict_plain(find("H200"), launch, {.matrix_flops = 1e12}).chip_share, 0.6);
}

}  // namespace
}  // namespace flashmoe::device::predict_test
