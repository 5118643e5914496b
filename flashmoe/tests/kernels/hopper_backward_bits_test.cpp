// SPDX-License-Identifier: MIT
// Gradients where a bool tensor says which pairs count: hopper_backward by one bit for each.
#include <gtest/gtest.h>

#include "kernels/backward_on_model.h"
#include "kernels/hopper_backward/spec.h"
#include "support/dice.h"
#include "support/pair_patterns.h"

namespace flashmoe::test::hopper_backward_bits_test {
namespace {

namespace hopper = kernels::hopper_backward;

using Pattern = bool (*)(int64_t, int64_t, int64_t, int64_t);
constexpr Pattern kScattered = nullptr;  // a third is hidden

constexpr dispatch::BackwardChoice kHopper{.kernel = dispatch::BackwardKernel::hopper_backward};

class HopperBackwardBits : public testing::TestWithParam<int> {
 protected:
  int64_t head_dim() const { return hopper::kTunings[GetParam()].head_dim; }
  int64_t tile_q() const { return hopper::kTunings[GetParam()].tile_q; }
  int64_t tile_kv() const { return hopper::kTunings[GetParam()].tile_kv; }

  Shape shape(int64_t rows, int64_t keys, Pattern pattern) const {
    Shape made{.q_rows = rows,
               .kv_rows = keys,
               .head_dim = head_dim(),
               .dtype = DType::bf16,
               .pairs = PairType::boolean};
    if (pattern != kScattered) made.pairs_shown = pattern;
    return made;
  }
};

// Whole tiles, tiles of nothing before, behind and between them, and parts; in any order and in one.
TEST_P(HopperBackwardBits, TakesEveryPattern) {
  for (const Pattern pattern :
       {kScattered, &causal_pairs, &patches_of_pairs, &some_rows_and_keys, &all_pairs, &no_pairs}) {
    for (const bool deterministic : {false, true}) {
      Shape each = shape(2 * tile_q() + 300, 2 * tile_kv() + 40, pattern);
      each.dtype = deterministic ? DType::fp16 : DType::bf16;
      EXPECT_GRADIENTS_ON_MODEL(
          each, {.deterministic = deterministic, .with_dlse = !deterministic, .seeds = 1, .choice = kHopper});
    }
  }
}

TEST_P(HopperBackwardBits, IsSharedAlongAnyDimension) {
  // What shares is the same code in every form: each has a third of the ways.
  for (int shared = GetParam() % 3; shared < 16; shared += 3) {
    Shape each = shape(70, tile_kv() + 20, kScattered);
    each.batch = 2;
    each.q_heads = 4;
    each.kv_heads = 2;
    for (std::size_t i = 0; i < 4; ++i) each.pairs_shared[i] = (shared >> i & 1) != 0;
    EXPECT_GRADIENTS_ON_MODEL(each, {.seeds = 1, .choice = kHopper});
  }
}

// The heads of a group see different tiles of queries: all walk over what any of them sees, and only what all
// see whole goes without a mask.
TEST_P(HopperBackwardBits, HeadsOfAGroupSeeDifferentTiles) {
  for (const bool deterministic : {false, true}) {
    Shape each =
        shape(4 * tile_q() + 33, 3 * tile_kv() - 9, deterministic ? &causal_pairs : &patches_of_pairs);
    each.q_heads = 3;
    EXPECT_GRADIENTS_ON_MODEL(each, {.deterministic = deterministic, .seeds = 1, .choice = kHopper});
  }
}

TEST_P(HopperBackwardBits, GoesWithMasksWindowsAndSinks) {
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

TEST_P(HopperBackwardBits, TakesSizesAroundATile) {
  for (const int64_t rows : {int64_t{1}, tile_q() - 1, tile_q(), tile_q() + 1}) {
    for (const int64_t keys : {1, 63, 64, 65, 128, 129}) {
      EXPECT_GRADIENTS_ON_MODEL(shape(rows, keys, keys % 2 == 0 ? kScattered : &all_pairs),
                                {.seeds = 1, .choice = kHopper});
    }
  }
}

// LSEs far below 0: keys past the end have scores of 0, and exp2(0 - LSE) overflows.
TEST_P(HopperBackwardBits, TakesHugeLogits) {
  for (const int64_t keys : {1, 65, 140}) {
    Shape each = shape(100, keys, &all_pairs);
    each.spread = 40;
    EXPECT_GRADIENTS_ON_MODEL(each, {.seeds = 1, .choice = kHopper});
  }
}

TEST_P(HopperBackwardBits, TakesRandomProblems) {
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
    each.pairs = PairType::boolean;
    if (const Pattern pattern =
            dice.one_of({kScattered, &causal_pairs, &patches_of_pairs, &some_rows_and_keys}))
      each.pairs_shown = pattern;
    for (bool& shared : each.pairs_shared) shared = dice.between(0, 3) == 0;
    EXPECT_GRADIENTS_ON_MODEL(
        each, {.deterministic = seed % 2 == 0, .with_dlse = seed % 3 == 0, .seeds = 1, .choice = kHopper});
  }
}

TEST_P(HopperBackwardBits, DeterministicMeansTheSameBits) {
  BackwardProblem problem(shape(2 * tile_q() - 28, 4 * tile_kv() - 12, kScattered));
  std::vector<std::byte> first;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    problem.poison_gradients();
    run_backward_on_model(problem, true, {.seed = seed});
    if (seed == 0) first = problem.gradient_bytes();
    EXPECT_EQ(problem.gradient_bytes(), first);
  }
}

INSTANTIATE_TEST_SUITE_P(Tuning, HopperBackwardBits, testing::Range(0, hopper::kNumTunings));

}  // namespace
}  // namespace flashmoe::test::hopper_backward_bits_test
