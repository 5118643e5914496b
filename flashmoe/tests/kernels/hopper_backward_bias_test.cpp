// SPDX-License-Identifier: MIT
// Gradients where a tensor of the inputs' own type is added to scores: hopper_backward, and the tensor's own
// gradient by naive_backward, as both are where that is sums in a fixed order.
#include <gtest/gtest.h>

#include "dispatch/backward.h"
#include "kernels/backward_on_model.h"
#include "kernels/hopper_backward/spec.h"
#include "support/dice.h"
#include "support/pair_patterns.h"

namespace flashmoe::test::hopper_backward_bias_test {
namespace {

namespace hopper = kernels::hopper_backward;

using Pattern = bool (*)(int64_t, int64_t, int64_t, int64_t);
constexpr Pattern kScattered = nullptr;  // a third is -inf

constexpr dispatch::BackwardChoice kHopper{.kernel = dispatch::BackwardKernel::hopper_backward};

void add_bias(Shape& shape, Pattern pattern) {
  shape.pairs = shape.dtype == DType::fp16 ? PairType::fp16 : PairType::bf16;
  shape.pairs_aligned = true;
  if (pattern != kScattered) shape.pairs_shown = pattern;
}

class HopperBackwardBias : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!hopper::takes_bias(hopper::kTunings[GetParam()])) GTEST_SKIP() << "has no form that adds a tensor";
  }
  int64_t head_dim() const { return hopper::kTunings[GetParam()].head_dim; }
  int64_t tile_q() const { return hopper::kTunings[GetParam()].tile_q; }
  int64_t tile_kv() const { return hopper::kTunings[GetParam()].tile_kv; }

  Shape shape(int64_t rows, int64_t keys, Pattern pattern, DType dtype = DType::bf16) const {
    Shape made{.q_rows = rows, .kv_rows = keys, .head_dim = head_dim(), .dtype = dtype};
    add_bias(made, pattern);
    return made;
  }
};

// Whole tiles, tiles of nothing before, behind and between them, and parts; in any order and in one.
TEST_P(HopperBackwardBias, TakesEveryPattern) {
  for (const Pattern pattern :
       {kScattered, &causal_pairs, &patches_of_pairs, &some_rows_and_keys, &all_pairs, &no_pairs}) {
    for (const bool deterministic : {false, true}) {
      const Shape each =
          shape(2 * tile_q() + 300, 2 * tile_kv() + 40, pattern, deterministic ? DType::fp16 : DType::bf16);
      EXPECT_GRADIENTS_ON_MODEL(
          each, {.deterministic = deterministic, .with_dlse = !deterministic, .seeds = 1, .choice = kHopper});
    }
  }
}

TEST_P(HopperBackwardBias, IsSharedByBatchEntriesAndHeads) {
  for (int shared = 0; shared < 4; ++shared) {
    Shape each = shape(70, tile_kv() + 20, kScattered);
    each.batch = 2;
    each.q_heads = 4;
    each.kv_heads = 2;
    each.pairs_shared = {(shared & 1) != 0, (shared & 2) != 0, false, false};
    EXPECT_GRADIENTS_ON_MODEL(each, {.seeds = 1, .choice = kHopper});
  }
}

TEST_P(HopperBackwardBias, GoesWithMasksWindowsAndSinks) {
  for (const Mask mask : kMasks) {
    Shape each = shape(330, 290, kScattered);
    each.q_heads = 2;
    each.mask = mask;
    each.sinks = {1, -2};
    EXPECT_GRADIENTS_ON_MODEL(each, {.seeds = 1, .choice = kHopper});
    each.window = {100, 20};
    each.pairs_shown = all_pairs;
    EXPECT_GRADIENTS_ON_MODEL(each, {.deterministic = true, .seeds = 1, .choice = kHopper});
  }
}

TEST_P(HopperBackwardBias, TakesSizesAroundATile) {
  for (const int64_t rows : {int64_t{1}, tile_q() - 1, tile_q(), tile_q() + 1}) {
    for (const int64_t keys : {1, 63, 64, 65, 128, 129}) {
      EXPECT_GRADIENTS_ON_MODEL(shape(rows, keys, keys % 2 == 0 ? kScattered : &all_pairs),
                                {.seeds = 1, .choice = kHopper});
    }
  }
}

// LSEs far below 0: keys past the end have scores of 0, and exp2(0 - LSE) overflows.
TEST_P(HopperBackwardBias, TakesHugeLogitsAndAnyScale) {
  for (const float scale : {-0.25F, 0.0F, 1.0F}) {
    Shape each = shape(100, 140, &all_pairs);
    each.scale = scale;
    each.spread = 10;
    EXPECT_GRADIENTS_ON_MODEL(each, {.seeds = 1, .choice = kHopper});
  }
}

TEST_P(HopperBackwardBias, TakesRandomProblems) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Dice dice(seed + 300);
    Shape each{.head_dim = head_dim() - 8 * dice.between(0, 3), .seed = seed};
    each.dtype = dice.one_of({DType::fp16, DType::bf16});
    each.mask = dice.one_of(kMasks);
    each.layout = dice.one_of({Layout::bhsd, Layout::bshd});
    each.batch = dice.one_of({1, 2});
    each.q_heads = dice.one_of({1, 2, 3});
    each.kv_rows = dice.length(400);
    each.q_rows = dice.length(400);
    each.window = dice.window(each.kv_rows);
    add_bias(each, dice.one_of({kScattered, &causal_pairs, &patches_of_pairs, &some_rows_and_keys}));
    each.pairs_shared = {dice.between(0, 1) == 0, dice.between(0, 1) == 0, false, false};
    EXPECT_GRADIENTS_ON_MODEL(
        each, {.deterministic = seed % 2 == 0, .with_dlse = seed % 3 == 0, .seeds = 1, .choice = kHopper});
  }
}

INSTANTIATE_TEST_SUITE_P(Tuning, HopperBackwardBias, testing::Range(0, hopper::kNumTunings));

TEST(HopperBackwardBiasPlan, ATensorOfTheInputsTypeGoesToHopper) {
  const ForwardProblem problem{.q_heads = 2,
                               .q_rows = 513,
                               .kv_rows = 300,
                               .head_dim = 128,
                               .dtype = DType::bf16,
                               .scale = 1,
                               .attn_mask = true,
                               .pairs = {.type = PairType::bf16, .per_head = true}};
  const device::Spec& spec = device::find("H200");
  const auto kernel = [&](auto change, dispatch::Addressing addressing = true) {
    ForwardProblem other = problem;
    change(other);
    return dispatch::plan_backward(other, addressing, spec, false).kernel;
  };
  constexpr auto kAmpere = dispatch::BackwardKernel::ampere_backward;
  EXPECT_EQ(kernel([](ForwardProblem&) {}), dispatch::BackwardKernel::hopper_backward);
  EXPECT_EQ(kernel([](ForwardProblem&) {}, dispatch::Addressing(true, false)), kAmpere);
  EXPECT_EQ(kernel([](ForwardProblem& p) { p.head_dim = 256; }), kAmpere);
  EXPECT_EQ(kernel([](ForwardProblem& p) { p.pairs.type = PairType::fp16; }), kAmpere);
  EXPECT_EQ(kernel([](ForwardProblem& p) { p.softcap = 2; }), kAmpere);
}

}  // namespace
}  // namespace flashmoe::test::hopper_backward_bias_test
