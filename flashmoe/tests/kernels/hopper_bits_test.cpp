// SPDX-License-Identifier: MIT
// A bool tensor in hopper_forward, by its bits, on the model of a GPU.
#include <gtest/gtest.h>

#include "kernels/hopper_forward/spec.h"
#include "kernels/on_model.h"
#include "support/bool_masks.h"
#include "support/dice.h"

namespace flashmoe::test::hopper_bits_test {
namespace {

namespace hopper = kernels::hopper_forward;

class HopperBits : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!hopper::takes_bits(hopper::kTunings[GetParam()])) GTEST_SKIP() << "has no form for bits";
  }
  int64_t head_dim() const { return hopper::kTunings[GetParam()].head_dim; }
  int64_t tile_q() const { return hopper::kTunings[GetParam()].tile_q(); }
  int64_t tile_kv() const { return hopper::kTunings[GetParam()].tile_kv; }
  dispatch::ForwardChoice choice() const {
    return {.kernel = dispatch::ForwardKernel::hopper_forward, .tuning = GetParam()};
  }
};
INSTANTIATE_TEST_SUITE_P(Tuning, HopperBits, testing::Range(0, hopper::kNumTunings));

TEST_P(HopperBits, AgreeWithTheOracleWhateverTheyHide) {
  for (const Shown& shown : bool_masks(tile_kv())) {
    Shape shape{.q_heads = 2,
                .kv_heads = 1,
                .q_rows = tile_q() + 50,
                .kv_rows = 4 * tile_kv() + 21,
                .head_dim = head_dim(),
                .dtype = DType::bf16};
    shape.pairs = PairType::boolean;
    shape.pairs_shared = {true, true, false, false};
    shape.pairs_shown = shown;
    EXPECT_RUNS_ON_MODEL(shape, choice(), 1);
  }
}

TEST_P(HopperBits, AreSharedAlongAnyDimension) {
  // What shares is the same code in every form: each has half of the ways.
  for (int shared = GetParam() % 2; shared < 16; shared += 2) {
    Shape shape{.batch = 2,
                .q_heads = 4,
                .kv_heads = 2,
                .q_rows = 37,
                .kv_rows = 140,
                .head_dim = head_dim() - 8,
                .dtype = DType::fp16};
    shape.pairs = PairType::boolean;
    for (std::size_t i = 0; i < 4; ++i) shape.pairs_shared[i] = (shared >> i & 1) != 0;
    EXPECT_RUNS_ON_MODEL(shape, choice(), 1);
  }
}

// One block has all tiles, which begin and end with other blocks of keys.
TEST_P(HopperBits, GoFromTileToTile) {
  for (const Shown& shown : bool_masks(tile_kv())) {
    Shape shape{.batch = 2,
                .q_heads = 2,
                .kv_heads = 1,
                .q_rows = 2 * tile_q() + 9,
                .kv_rows = 3 * tile_kv() + 5,
                .head_dim = head_dim(),
                .dtype = DType::bf16};
    shape.pairs = PairType::boolean;
    shape.pairs_shown = [&](int64_t b, int64_t h, int64_t row, int64_t key) {
      return shown(b, h, (row + 70 * b + 130 * h) % shape.q_rows, key);
    };
    for (const uint64_t seed : {0, 1}) {
      Problem problem(shape);
      const auto time = seed == 1 ? model::CopyTime::early : model::CopyTime::late;
      run_on_model(
          problem,
          {.choice = choice(), .settings = {.seed = seed, .copies = time, .stores = time}, .sms = 1});
      EXPECT_AGREES_WITH_ORACLE(problem, shape);
    }
  }
}

TEST(HopperBitsShapes, AgreeWithTheOracle) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    Dice dice(seed);
    Shape shape{.q_heads = 2, .kv_heads = 1, .seed = seed};
    shape.head_dim = dice.one_of({8, 40, 64, 96, 128, 160, 256});
    shape.dtype = dice.between(0, 1) == 0 ? DType::fp16 : DType::bf16;
    shape.mask = dice.one_of(kMasks);
    shape.layout = dice.one_of({Layout::bhsd, Layout::bshd});
    shape.batch = dice.one_of({1, 2});
    shape.kv_rows = dice.between(1, 420);
    shape.q_rows = dice.between(0, 1) == 0 ? shape.kv_rows : dice.between(1, 300);
    shape.window = dice.window(shape.kv_rows);
    shape.pairs = PairType::boolean;
    shape.pairs_step = dice.one_of({1, 1, 2});
    for (bool& shared : shape.pairs_shared) shared = dice.between(0, 2) == 0;
    if (dice.between(0, 1) == 0) {
      const std::vector<Shown> masks = bool_masks(64);
      shape.pairs_shown = masks[static_cast<std::size_t>(dice.between(0, std::ssize(masks) - 1))];
      shape.pairs_shared = {true, true, false, false};
    }
    EXPECT_RUNS_ON_MODEL(shape, {.kernel = dispatch::ForwardKernel::hopper_forward}, 1);
  }
}

TEST(HopperBitsPlan, ABoolTensorAloneGoesToHopper) {
  Shape shape{.q_heads = 4, .kv_heads = 1, .q_rows = 300, .kv_rows = 300, .dtype = DType::bf16};
  shape.pairs = PairType::boolean;
  shape.pairs_shared = {true, true, false, false};
  const device::Spec& spec = device::find("H200");
  const auto plan_of = [&](const Shape& of) {
    return dispatch::plan_forward(Problem(of).problem, true, spec);
  };
  const Problem problem(shape);
  const dispatch::ForwardPlan plan = plan_of(shape);
  EXPECT_EQ(plan.kernel, dispatch::ForwardKernel::hopper_forward);
  EXPECT_EQ(plan.pack, 1);
  EXPECT_EQ(plan.num_splits, 1);
  // 384 rows of 384 bits, and 16 bytes for 64 rows, in whole pieces of 64.
  EXPECT_EQ(plan.workspace_bytes, 384 * 384 / 8 + 2 * 64);
  const std::string words = dispatch::explain(plan, problem.problem, spec);
  for (const char* part : {"a bool attn_mask", "prepare_pairs"})
    EXPECT_NE(words.find(part), std::string::npos) << words;

  const auto elsewhere = [&](auto change) {
    Shape other = shape;
    change(other);
    return plan_of(other).kernel != dispatch::ForwardKernel::hopper_forward;
  };
  EXPECT_TRUE(elsewhere([](Shape& s) { s.pairs = PairType::fp32; }));
  EXPECT_TRUE(elsewhere([](Shape& s) { s.softcap = 5; }));
  EXPECT_TRUE(elsewhere([](Shape& s) { s.slopes = {1, 1, 1, 1}; }));
  EXPECT_TRUE(elsewhere([](Shape& s) { s.sinks = {1, 1, 1, 1}; }));
  EXPECT_TRUE(elsewhere([](Shape& s) { s.chunk = 50; }));
  EXPECT_TRUE(elsewhere([](Shape& s) { s.scale = -1.0F; }));
  EXPECT_TRUE(elsewhere([](Shape& s) { s.dtype = DType::fp32; }));
  EXPECT_TRUE(elsewhere([](Shape& s) { s.head_dim = 60; }));
}

}  // namespace
}  // namespace flashmoe::test::hopper_bits_test
