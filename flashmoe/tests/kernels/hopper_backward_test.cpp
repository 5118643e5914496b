// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "kernels/backward_on_model.h"
#include "kernels/hopper_backward/spec.h"
#include "support/spans.h"

namespace flashmoe::test::hopper_backward_test {
namespace {

namespace hopper = kernels::hopper_backward;

class HopperBackward : public testing::TestWithParam<int> {
 protected:
  int64_t head_dim() const { return hopper::kTunings[GetParam()].head_dim; }
  int64_t tile_q() const { return hopper::kTunings[GetParam()].tile_q; }
  int64_t tile_kv() const { return hopper::kTunings[GetParam()].tile_kv; }
};

TEST_P(HopperBackward, TakesBothTypesAndAllMasks) {
  for (DType dtype : {DType::fp16, DType::bf16}) {
    for (Mask mask : kMasks) {
      EXPECT_GRADIENTS_ON_MODEL({.q_rows = 2 * tile_q() + 44,
                                 .kv_rows = tile_kv() + 40,
                                 .head_dim = head_dim(),
                                 .dtype = dtype,
                                 .mask = mask},
                                {.with_dlse = mask == Mask::causal});
    }
  }
}

TEST_P(HopperBackward, TakesSizesAroundATile) {
  for (int64_t rows : {int64_t{1}, tile_q() - 1, tile_q(), tile_q() + 1}) {
    for (int64_t keys : {1, 63, 128, 129}) {
      EXPECT_GRADIENTS_ON_MODEL({.q_rows = rows,
                                 .kv_rows = keys,
                                 .head_dim = head_dim(),
                                 .dtype = DType::bf16,
                                 .mask = Mask::causal},
                                {.seeds = 1});
    }
  }
}

TEST_P(HopperBackward, TakesMoreTilesThanStages) {
  EXPECT_GRADIENTS_ON_MODEL(
      {.q_rows = 4 * tile_q() + 5, .kv_rows = 70, .head_dim = head_dim(), .dtype = DType::fp16},
      {.seeds = 4});
}

TEST_P(HopperBackward, SumsOverTheHeadsOfAGroup) {
  for (Layout layout : {Layout::bhsd, Layout::bshd}) {
    EXPECT_GRADIENTS_ON_MODEL({.batch = 2,
                               .q_heads = 6,
                               .kv_heads = 2,
                               .q_rows = 50,
                               .kv_rows = tile_kv() + 12,
                               .head_dim = head_dim(),
                               .dtype = DType::bf16,
                               .mask = Mask::causal,
                               .layout = layout},
                              {.seeds = 1});
  }
}

// Rows that see no key, and keys that no row sees.
TEST_P(HopperBackward, WhatSeesNothingHasNoGradient) {
  EXPECT_GRADIENTS_ON_MODEL(
      {.q_rows = 300, .kv_rows = 40, .head_dim = head_dim(), .dtype = DType::fp16, .mask = Mask::causal});
  EXPECT_GRADIENTS_ON_MODEL({.q_rows = 40,
                             .kv_rows = 300,
                             .head_dim = head_dim(),
                             .dtype = DType::fp16,
                             .mask = Mask::causal_top_left});
}

// LSEs of +-1e4; with one key also far below 0. Keys past the end have scores of 0, and exp2(0 - LSE)
// overflows.
TEST_P(HopperBackward, TakesHugeLogits) {
  EXPECT_GRADIENTS_ON_MODEL(
      {.q_rows = 100, .kv_rows = 1, .head_dim = head_dim(), .dtype = DType::bf16, .spread = 40},
      {.seeds = 1});
  EXPECT_GRADIENTS_ON_MODEL(
      {.q_rows = 100, .kv_rows = 140, .head_dim = head_dim(), .dtype = DType::bf16, .spread = 40},
      {.seeds = 1});
}

// Tiles of queries that are masked, full and masked again; keys that few rows see; each side alone.
TEST_P(HopperBackward, TakesWindows) {
  constexpr int64_t kAll = Window::kUnlimited;
  for (const Window window :
       {Window{2 * tile_q() + tile_kv() + 9, 20}, Window{5, 3}, Window{70, kAll}, Window{kAll, 9}}) {
    for (const bool deterministic : {false, true}) {
      EXPECT_GRADIENTS_ON_MODEL({.q_heads = 2,
                                 .kv_heads = 1,
                                 .q_rows = 4 * tile_q() + 40,
                                 .kv_rows = 2 * tile_kv() + 40,
                                 .head_dim = head_dim(),
                                 .dtype = deterministic ? DType::fp16 : DType::bf16,
                                 .window = window},
                                {.deterministic = deterministic, .seeds = 1});
    }
  }
}

// Positions past the last key and before the first; keys that no row sees.
TEST_P(HopperBackward, WhatAWindowHidesHasNoGradient) {
  EXPECT_GRADIENTS_ON_MODEL(
      {.q_rows = 300, .kv_rows = 40, .head_dim = head_dim(), .dtype = DType::fp16, .window = {3, 6}},
      {.seeds = 1});
  EXPECT_GRADIENTS_ON_MODEL({.q_rows = 40,
                             .kv_rows = 300,
                             .head_dim = head_dim(),
                             .dtype = DType::bf16,
                             .mask = Mask::causal,
                             .window = {10, Window::kUnlimited}},
                            {.seeds = 1});
}

TEST_P(HopperBackward, TakesAnyScale) {
  for (float scale : {0.0F, -0.2F}) {
    EXPECT_GRADIENTS_ON_MODEL({.q_rows = 70,
                               .kv_rows = 100,
                               .head_dim = head_dim(),
                               .dtype = DType::bf16,
                               .mask = Mask::causal,
                               .scale = scale},
                              {.seeds = 1});
  }
}

TEST_P(HopperBackward, TakesHeadDimsBetweenForms) {
  EXPECT_GRADIENTS_ON_MODEL(
      {.q_rows = 70, .kv_rows = 200, .head_dim = head_dim() - 24, .dtype = DType::fp16, .mask = Mask::causal},
      {.seeds = 1});
}

TEST_P(HopperBackward, DeterministicGradientsAgreeToo) {
  for (Mask mask : kMasks) {
    EXPECT_GRADIENTS_ON_MODEL({.q_heads = 2,
                               .kv_heads = 1,
                               .q_rows = tile_q() + 40,
                               .kv_rows = 2 * tile_kv() + 40,
                               .head_dim = head_dim(),
                               .dtype = DType::bf16,
                               .mask = mask},
                              {.deterministic = true, .seeds = 1});
  }
}

// Blocks run in another order with every seed, and with them, unless they take turns, the additions to dq.
TEST_P(HopperBackward, DeterministicMeansTheSameBits) {
  const Shape shape{.q_heads = 2,
                    .kv_heads = 2,
                    .q_rows = 100,
                    .kv_rows = 4 * tile_kv() - 12,
                    .head_dim = head_dim(),
                    .dtype = DType::fp16};
  BackwardProblem problem(shape);
  for (bool deterministic : {true, false}) {
    std::vector<std::byte> first;
    bool same = true;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      problem.poison_gradients();
      run_backward_on_model(problem, deterministic, {.seed = seed});
      if (seed == 0) first = problem.gradient_bytes();
      same = same && problem.gradient_bytes() == first;
    }
    EXPECT_EQ(same, deterministic);
  }
}

TEST_P(HopperBackward, TakesSpans) {
  const int64_t rows = 2 * tile_kv() + 70;
  Shape shape{.batch = 2,
              .q_heads = 2,
              .kv_heads = 1,
              .q_rows = rows,
              .kv_rows = rows,
              .head_dim = head_dim(),
              .dtype = DType::bf16,
              .mask = Mask::causal};
  Shape documents = shape, prefix = shape, padding = shape;
  documents.documents = documents_of({tile_kv() + 17, 3, tile_kv() - 8}, rows);
  prefix.prefix = {static_cast<int32_t>(tile_kv() + 30), 5};
  padding.left_padding = {static_cast<int32_t>(tile_kv() + 9), 0};
  documents.dtype = DType::fp16;
  for (const Shape& each : {documents, prefix, padding}) {
    for (const bool deterministic : {false, true})
      EXPECT_GRADIENTS_ON_MODEL(each, {.deterministic = deterministic, .seeds = 1});
  }
}

TEST_P(HopperBackward, TakesRandomSpansInAnyOrderAndInOne) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Dice dice(seed + 100);
    Shape shape{.q_heads = 2, .kv_heads = 1, .head_dim = head_dim(), .dtype = DType::bf16, .seed = seed};
    shape.mask = dice.one_of(kMasks);
    shape.kv_rows = dice.between(1, 330);
    shape.q_rows = dice.between(0, 1) == 0 ? shape.kv_rows : dice.between(1, 250);
    shape.window = dice.window(shape.kv_rows);
    throw_spans(dice, shape);
    shape.first_keys = 0;
    if (shape.documents.empty() && shape.prefix.empty() && shape.left_padding.empty() && shape.chunk == 0)
      shape.chunk = 50;
    EXPECT_GRADIENTS_ON_MODEL(shape, {.deterministic = seed % 2 == 0, .seeds = 1});
  }
}

INSTANTIATE_TEST_SUITE_P(Tuning, HopperBackward, testing::Range(0, hopper::kNumTunings));

}  // namespace
}  // namespace flashmoe::test::hopper_backward_test
