// SPDX-License-Identifier: MIT
// A tensor of the inputs' own type that hopper_forward adds to scores, on the model of a GPU.
#include <gtest/gtest.h>

#include "dispatch/run.h"
#include "kernels/hopper_forward/launch.h"
#include "kernels/hopper_forward/spec.h"
#include "kernels/on_model.h"
#include "support/bool_masks.h"
#include "support/dice.h"

namespace flashmoe::test::hopper_bias_test {
namespace {

namespace hopper = kernels::hopper_forward;

void add_bias(Shape& shape) {
  shape.pairs = shape.dtype == DType::fp16 ? PairType::fp16 : PairType::bf16;
  shape.pairs_aligned = true;
}

class HopperBias : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!hopper::takes_bias(hopper::kTunings[GetParam()])) GTEST_SKIP() << "has no form that adds a tensor";
  }
  int64_t head_dim() const { return hopper::kTunings[GetParam()].head_dim; }
  int64_t tile_q() const { return hopper::kTunings[GetParam()].tile_q(); }
  int64_t tile_kv() const { return hopper::kTunings[GetParam()].tile_kv; }
  dispatch::ForwardChoice choice() const {
    return {.kernel = dispatch::ForwardKernel::hopper_forward, .tuning = GetParam()};
  }
};
INSTANTIATE_TEST_SUITE_P(Tuning, HopperBias, testing::Range(0, hopper::kNumTunings));

// Where it is -inf it hides: tiles of nothing are not walked.
TEST_P(HopperBias, AgreesWithTheOracleWhateverItHides) {
  for (const Shown& shown : bool_masks(tile_kv())) {
    Shape shape{.q_heads = 2,
                .kv_heads = 1,
                .q_rows = tile_q() + 50,
                .kv_rows = 4 * tile_kv() + 21,
                .head_dim = head_dim(),
                .dtype = DType::bf16};
    add_bias(shape);
    shape.pairs_shared = {true, true, false, false};
    shape.pairs_shown = shown;
    EXPECT_RUNS_ON_MODEL(shape, choice(), 1);
  }
}

TEST_P(HopperBias, IsSharedByBatchEntriesAndHeads) {
  for (int shared = 0; shared < 4; ++shared) {
    for (const Mask mask : kMasks) {
      Shape shape{.batch = 2,
                  .q_heads = 4,
                  .kv_heads = 2,
                  .q_rows = tile_q() + 7,
                  .kv_rows = 140,
                  .head_dim = head_dim() - 8,
                  .dtype = DType::fp16,
                  .mask = mask};
      add_bias(shape);
      shape.pairs_shared = {(shared & 1) != 0, (shared & 2) != 0, false, false};
      EXPECT_RUNS_ON_MODEL(shape, choice(), 1);
    }
  }
}

// One block has all tiles, which begin and end with other blocks of keys: what a warpgroup does not see, the
// loader leaves out.
TEST_P(HopperBias, GoesFromTileToTile) {
  for (const Shown& shown : bool_masks(tile_kv())) {
    Shape shape{.batch = 2,
                .q_heads = 2,
                .kv_heads = 1,
                .q_rows = 2 * tile_q() + 9,
                .kv_rows = 3 * tile_kv() + 5,
                .head_dim = head_dim(),
                .dtype = DType::bf16};
    add_bias(shape);
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

TEST_P(HopperBias, GoesWithSinksAndAnyScale) {
  for (const float scale : {-0.3F, 0.0F, 1e-42F, 2.0F}) {
    Shape shape{.q_heads = 2, .kv_heads = 1, .q_rows = 70, .kv_rows = 3 * tile_kv(), .head_dim = head_dim()};
    shape.dtype = DType::bf16;
    shape.mask = Mask::causal;
    shape.scale = scale;
    shape.sinks = {1.5F, -2.0F};
    add_bias(shape);
    EXPECT_RUNS_ON_MODEL(shape, choice(), 1);
  }
}

// Far beyond what scores are without.
TEST_P(HopperBias, MayBeLarge) {
  for (const float spread : {1e3F, 3e4F}) {
    Shape shape{.q_rows = 70, .kv_rows = 3 * tile_kv(), .head_dim = head_dim(), .dtype = DType::fp16};
    shape.pairs_spread = spread;
    add_bias(shape);
    EXPECT_RUNS_ON_MODEL(shape, choice(), 1);
  }
}

TEST(HopperBiasShapes, AgreeWithTheOracle) {
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
    add_bias(shape);
    shape.pairs_shared = {dice.between(0, 1) == 0, dice.between(0, 1) == 0, false, false};
    if (dice.between(0, 1) == 0) {
      const std::vector<Shown> masks = bool_masks(64);
      shape.pairs_shown = masks[static_cast<std::size_t>(dice.between(0, std::ssize(masks) - 1))];
    }
    EXPECT_RUNS_ON_MODEL(shape, {.kernel = dispatch::ForwardKernel::hopper_forward}, 1);
  }
}

TEST(HopperBiasPlan, ATensorOfTheInputsTypeGoesToHopper) {
  Shape shape{.q_heads = 4, .kv_heads = 1, .q_rows = 300, .kv_rows = 300, .dtype = DType::bf16};
  add_bias(shape);
  shape.pairs_shared = {true, true, false, false};
  const device::Spec& spec = device::find("H200");
  const auto plan_of = [&](const Shape& of) {
    const Problem problem(of);
    return dispatch::plan_forward(problem.problem, dispatch::addressing_of(problem.args), spec);
  };
  const Problem problem(shape);
  const dispatch::ForwardPlan plan = plan_of(shape);
  EXPECT_EQ(plan.kernel, dispatch::ForwardKernel::hopper_forward);
  // 16 bytes for each 64 of 384 rows, in whole pieces of 64.
  EXPECT_EQ(plan.workspace_bytes, 2 * 64);
  EXPECT_EQ(plan.smem_bytes, hopper::smem_bytes_with_bias(plan.tuning));
  const std::string words = dispatch::explain(plan, problem.problem, spec);
  for (const char* part : {"attn_mask of the inputs' 16-bit type", "the tensor by TMA"})
    EXPECT_NE(words.find(part), std::string::npos) << words;

  const auto elsewhere = [&](auto change) {
    Shape other = shape;
    change(other);
    return plan_of(other).kernel != dispatch::ForwardKernel::hopper_forward;
  };
  EXPECT_TRUE(elsewhere([](Shape& s) { s.pairs = PairType::fp32; }));
  EXPECT_TRUE(elsewhere([](Shape& s) { s.pairs = PairType::fp16; }));
  EXPECT_TRUE(elsewhere([](Shape& s) { s.pairs_aligned = false; }));  // rows of 300 elements
  EXPECT_TRUE(elsewhere([](Shape& s) { s.pairs_step = 2; }));
  EXPECT_TRUE(elsewhere([](Shape& s) { s.pairs_shared[2] = true; }));
  EXPECT_TRUE(elsewhere([](Shape& s) { s.pairs_shared[3] = true; }));
  EXPECT_TRUE(elsewhere([](Shape& s) { s.softcap = 5; }));
  EXPECT_TRUE(elsewhere([](Shape& s) { s.slopes = {1, 1, 1, 1}; }));
  EXPECT_TRUE(elsewhere([](Shape& s) { s.chunk = 50; }));
  EXPECT_FALSE(elsewhere([](Shape& s) { s.sinks = {1, 1, 1, 1}; }));
  EXPECT_FALSE(elsewhere([](Shape& s) { s.scale = -1.0F; }));
}

}  // namespace
}  // namespace flashmoe::test::hopper_bias_test
