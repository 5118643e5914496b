// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "kernels/ampere_backward/spec.h"
#include "kernels/backward_on_model.h"

namespace flashmoe::test::ampere_backward_test {
namespace {

namespace ampere = kernels::ampere_backward;

class AmpereBackward : public testing::TestWithParam<int> {
 protected:
  int64_t head_dim() const { return ampere::kTunings[GetParam()].head_dim; }
  int64_t tile_q() const { return ampere::kTunings[GetParam()].tile_q; }
  int64_t tile_kv() const { return ampere::kTunings[GetParam()].tile_kv; }
  dispatch::BackwardChoice choice() const {
    return {.kernel = dispatch::BackwardKernel::ampere_backward, .tuning = GetParam()};
  }
};

TEST_P(AmpereBackward, TakesBothTypesAndAllMasks) {
  for (DType dtype : {DType::fp16, DType::bf16}) {
    for (Mask mask : kMasks) {
      EXPECT_GRADIENTS_ON_MODEL({.q_rows = 2 * tile_q() + 44,
                                 .kv_rows = tile_kv() + 40,
                                 .head_dim = head_dim(),
                                 .dtype = dtype,
                                 .mask = mask},
                                {.with_dlse = mask == Mask::causal, .choice = choice()});
    }
  }
}

TEST_P(AmpereBackward, TakesSizesAroundATile) {
  for (int64_t rows : {int64_t{1}, tile_q() - 1, tile_q(), tile_q() + 1}) {
    for (int64_t keys : {int64_t{1}, tile_kv() - 1, tile_kv(), tile_kv() + 1}) {
      EXPECT_GRADIENTS_ON_MODEL({.q_rows = rows,
                                 .kv_rows = keys,
                                 .head_dim = head_dim(),
                                 .dtype = DType::bf16,
                                 .mask = Mask::causal},
                                {.seeds = 1, .choice = choice()});
    }
  }
}

TEST_P(AmpereBackward, TakesMoreTilesThanStages) {
  EXPECT_GRADIENTS_ON_MODEL(
      {.q_rows = 4 * tile_q() + 5, .kv_rows = 70, .head_dim = head_dim(), .dtype = DType::fp16},
      {.seeds = 4, .choice = choice()});
}

TEST_P(AmpereBackward, SumsOverTheHeadsOfAGroup) {
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
                              {.seeds = 1, .choice = choice()});
  }
}

TEST_P(AmpereBackward, TakesWindows) {
  constexpr int64_t kAll = Window::kUnlimited;
  for (const Window window :
       {Window{2 * tile_q() + tile_kv() + 9, 20}, Window{5, 3}, Window{70, kAll}, Window{kAll, 9}}) {
    EXPECT_GRADIENTS_ON_MODEL({.q_heads = 2,
                               .kv_heads = 1,
                               .q_rows = 4 * tile_q() + 30,
                               .kv_rows = 2 * tile_kv() + 20,
                               .head_dim = head_dim(),
                               .dtype = window.left == 70 ? DType::bf16 : DType::fp16,
                               .window = window},
                              {.deterministic = window.left == 5, .seeds = 1, .choice = choice()});
  }
}

TEST_P(AmpereBackward, WhatAWindowHidesHasNoGradient) {
  EXPECT_GRADIENTS_ON_MODEL(
      {.q_rows = 300, .kv_rows = 40, .head_dim = head_dim(), .dtype = DType::fp16, .window = {3, 6}},
      {.seeds = 1, .choice = choice()});
  EXPECT_GRADIENTS_ON_MODEL({.q_rows = 40,
                             .kv_rows = 300,
                             .head_dim = head_dim(),
                             .dtype = DType::bf16,
                             .mask = Mask::causal_top_left,
                             .window = {10, Window::kUnlimited}},
                            {.deterministic = true, .seeds = 1, .choice = choice()});
}

// Rows that see no key, and keys that no row sees.
TEST_P(AmpereBackward, WhatSeesNothingHasNoGradient) {
  EXPECT_GRADIENTS_ON_MODEL(
      {.q_rows = 300, .kv_rows = 40, .head_dim = head_dim(), .dtype = DType::fp16, .mask = Mask::causal},
      {.choice = choice()});
  EXPECT_GRADIENTS_ON_MODEL({.q_rows = 40,
                             .kv_rows = 300,
                             .head_dim = head_dim(),
                             .dtype = DType::fp16,
                             .mask = Mask::causal_top_left},
                            {.choice = choice()});
}

// LSEs of +-1e4; with one key also far below 0. Keys past the end have scores of 0, and exp2(0 - LSE)
// overflows.
TEST_P(AmpereBackward, TakesHugeLogits) {
  EXPECT_GRADIENTS_ON_MODEL(
      {.q_rows = 100, .kv_rows = 1, .head_dim = head_dim(), .dtype = DType::bf16, .spread = 40},
      {.seeds = 1, .choice = choice()});
  EXPECT_GRADIENTS_ON_MODEL(
      {.q_rows = 100, .kv_rows = 140, .head_dim = head_dim(), .dtype = DType::bf16, .spread = 40},
      {.seeds = 1, .choice = choice()});
}

TEST_P(AmpereBackward, TakesAnyScale) {
  for (float scale : {0.0F, -0.2F}) {
    EXPECT_GRADIENTS_ON_MODEL({.q_rows = 70,
                               .kv_rows = 100,
                               .head_dim = head_dim(),
                               .dtype = DType::bf16,
                               .mask = Mask::causal,
                               .scale = scale},
                              {.seeds = 1, .choice = choice()});
  }
}

TEST_P(AmpereBackward, TakesHeadDimsBetweenForms) {
  EXPECT_GRADIENTS_ON_MODEL(
      {.q_rows = 70, .kv_rows = 200, .head_dim = head_dim() - 24, .dtype = DType::fp16, .mask = Mask::causal},
      {.seeds = 1, .choice = choice()});
}

TEST_P(AmpereBackward, DeterministicGradientsAgreeToo) {
  for (Mask mask : kMasks) {
    EXPECT_GRADIENTS_ON_MODEL({.q_heads = 2,
                               .kv_heads = 1,
                               .q_rows = tile_q() + 40,
                               .kv_rows = 2 * tile_kv() + 40,
                               .head_dim = head_dim(),
                               .dtype = DType::bf16,
                               .mask = mask},
                              {.deterministic = true, .seeds = 1, .choice = choice()});
  }
}

// Blocks run in another order with every seed, and with them, unless they take turns, the additions to dq.
TEST_P(AmpereBackward, DeterministicMeansTheSameBits) {
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
      run_backward_on_model(problem, deterministic, {.seed = seed}, {}, choice());
      if (seed == 0) first = problem.gradient_bytes();
      same = same && problem.gradient_bytes() == first;
    }
    EXPECT_EQ(same, deterministic);
  }
}

INSTANTIATE_TEST_SUITE_P(Tuning, AmpereBackward, testing::Range(0, ampere::kNumTunings));

}  // namespace
}  // namespace flashmoe::test::ampere_backward_test
