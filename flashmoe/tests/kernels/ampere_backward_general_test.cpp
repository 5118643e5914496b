// SPDX-License-Identifier: MIT
// The general form of ampere_backward on the model of a GPU: scores that change, and rows of a table.
// lengths_backward_test.cpp has sequences of different lengths.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/ampere_backward/spec.h"
#include "kernels/backward_on_model.h"
#include "support/sequences.h"
#include "support/spans.h"

namespace flashmoe::test::ampere_backward_general_test {
namespace {

namespace ampere = kernels::ampere_backward;

class AmpereBackwardGeneral : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!ampere::is_general(GetParam())) GTEST_SKIP() << "the general form has another row for this head_dim";
  }
  const ampere::Tuning& tuning() const { return ampere::kTunings[GetParam()]; }
  dispatch::BackwardChoice choice() const {
    return {.kernel = dispatch::BackwardKernel::ampere_backward, .tuning = GetParam()};
  }
  // Several tiles each way, with tails.
  Shape shape(Mask mask, DType dtype = DType::bf16) const {
    return {.batch = 2,
            .q_heads = 2,
            .kv_heads = 1,
            .q_rows = 3 * tuning().tile_q + 12,
            .kv_rows = 2 * tuning().tile_kv + 9,
            .head_dim = tuning().head_dim,
            .dtype = dtype,
            .mask = mask};
  }
};
INSTANTIATE_TEST_SUITE_P(Tuning, AmpereBackwardGeneral, testing::Range(0, ampere::kNumTunings));

Shape capped(Shape shape) {
  shape.softcap = 2;
  return shape;
}
// Another slope for every head of every batch entry.
Shape sloped(Shape shape) {
  for (int64_t i = 0; i < shape.batch * shape.q_heads; ++i)
    shape.slopes.push_back(std::exp2(-static_cast<float>(i % 5 + 1)));
  return shape;
}
Shape with_sinks(Shape shape) {
  for (int64_t h = 0; h < shape.q_heads; ++h) shape.sinks.push_back(static_cast<float>(h) - 1);
  return shape;
}

TEST_P(AmpereBackwardGeneral, ScoresChangeUnderEveryMask) {
  for (const Mask mask : kMasks) {
    const Shape plain = shape(mask, mask == Mask::causal ? DType::fp16 : DType::bf16);
    EXPECT_GRADIENTS_ON_MODEL(capped(plain), {.seeds = 1, .choice = choice()});
    EXPECT_GRADIENTS_ON_MODEL(sloped(plain), {.seeds = 1, .choice = choice()});
    EXPECT_GRADIENTS_ON_MODEL(with_sinks(sloped(capped(plain))),
                              {.with_dlse = true, .seeds = 1, .choice = choice()});
  }
}

TEST_P(AmpereBackwardGeneral, ScoresChangeWithWindowsAndScales) {
  for (const Window window : {Window{5, 3}, Window{tuning().tile_kv + 40, 20}, Window{60, Window::kUnlimited},
                              Window{Window::kUnlimited, 9}}) {
    Shape windowed = capped(shape(Mask::none));
    windowed.window = window;
    EXPECT_GRADIENTS_ON_MODEL(windowed, {.seeds = 1, .choice = choice()});
  }
  for (const float scale : {0.0F, -0.2F}) {
    Shape scaled = sloped(shape(Mask::causal, DType::fp16));
    scaled.scale = scale;
    EXPECT_GRADIENTS_ON_MODEL(scaled, {.seeds = 1, .choice = choice()});
    scaled.softcap = 3;
    EXPECT_GRADIENTS_ON_MODEL(scaled, {.seeds = 1, .choice = choice()});
  }
}

// A key that is not there scores 0, which is far above those that are.
TEST_P(AmpereBackwardGeneral, TakesHugeLogits) {
  for (const int64_t keys : {1, 140}) {
    Shape huge{.q_rows = 100, .kv_rows = keys, .head_dim = tuning().head_dim, .dtype = DType::bf16};
    huge.spread = 40;
    huge.slopes = {0.5F};
    EXPECT_GRADIENTS_ON_MODEL(huge, {.seeds = 1, .choice = choice()});
  }
}

TEST_P(AmpereBackwardGeneral, WhatSeesNothingHasNoGradient) {
  for (const bool more_rows : {true, false}) {
    Shape blind = capped(shape(more_rows ? Mask::causal : Mask::causal_top_left));
    blind.q_rows = more_rows ? 200 : 40;
    blind.kv_rows = more_rows ? 40 : 300;
    EXPECT_GRADIENTS_ON_MODEL(blind, {.deterministic = more_rows, .seeds = 1, .choice = choice()});
    blind.window = {3, 2};
    EXPECT_GRADIENTS_ON_MODEL(blind, {.deterministic = !more_rows, .seeds = 1, .choice = choice()});
  }
}

TEST_P(AmpereBackwardGeneral, TakesHeadDimsBetweenFormsAndSizesAroundATile) {
  for (const int64_t more : {-1, 0, 1}) {
    Shape near = capped({.q_rows = tuning().tile_q + more,
                         .kv_rows = tuning().tile_kv + more,
                         .head_dim = tuning().head_dim - 24,
                         .dtype = DType::fp16,
                         .mask = Mask::causal,
                         .layout = Layout::bshd});
    EXPECT_GRADIENTS_ON_MODEL(near, {.seeds = 1, .choice = choice()});
  }
}

TEST_P(AmpereBackwardGeneral, TakesSpans) {
  const auto keys = static_cast<int32_t>(tuning().tile_kv);
  Shape square = shape(Mask::causal);
  square.q_rows = square.kv_rows = std::max(2 * keys + 20, 150);
  Shape documents = square, prefix = square, padding = square, chunked = square;
  documents.documents = documents_of({keys + 17, 3, keys - 8}, square.kv_rows);
  prefix.prefix = {keys + 30, 5};
  padding.left_padding = {keys + 9, 0};
  chunked.chunk = 50;
  documents.dtype = DType::fp16;
  for (const Shape& each : {documents, prefix, padding, chunked}) {
    for (const bool deterministic : {false, true})
      EXPECT_GRADIENTS_ON_MODEL(each, {.deterministic = deterministic, .seeds = 1, .choice = choice()});
    EXPECT_GRADIENTS_ON_MODEL(sloped(capped(each)), {.seeds = 1, .choice = choice()});
  }
}

// Rows see the first keys again long after they left their window: tiles between are nobody's.
TEST_P(AmpereBackwardGeneral, TakesFirstKeys) {
  const int64_t keys = std::max(2 * tuning().tile_kv + 70, 200);
  for (const int64_t first_keys : {int64_t{3}, int64_t{tuning().tile_kv + 5}}) {
    Shape streaming = shape(Mask::causal);
    streaming.q_rows = streaming.kv_rows = keys;
    streaming.window = {20, 0};
    streaming.first_keys = first_keys;
    EXPECT_GRADIENTS_ON_MODEL(streaming, {.seeds = 1, .choice = choice()});
    streaming.documents = documents_of({keys / 2 + 7, 30}, keys);
    EXPECT_GRADIENTS_ON_MODEL(capped(streaming), {.seeds = 1, .choice = choice()});
    streaming.q_rows = keys - 70;
    streaming.left_padding = {40, 0};
    EXPECT_GRADIENTS_ON_MODEL(streaming, {.seeds = 1, .choice = choice()});
  }
}

TEST_P(AmpereBackwardGeneral, TakesRandomSpansAndScores) {
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    Dice dice(seed + 200);
    Shape random{
        .q_heads = 2, .kv_heads = 1, .head_dim = tuning().head_dim, .dtype = DType::bf16, .seed = seed};
    random.mask = dice.one_of(kMasks);
    random.batch = dice.one_of({1, 2});
    random.kv_rows = dice.between(1, 330);
    random.q_rows = dice.between(0, 1) == 0 ? random.kv_rows : dice.between(1, 250);
    random.window = dice.window(random.kv_rows);
    throw_spans(dice, random);
    if (dice.between(0, 2) == 0) random = sloped(random);
    if (dice.between(0, 2) == 0) random = capped(random);
    if (dice.between(0, 2) == 0) random.dropout = {.p = dice.one_of({0.1F, 0.6F}), .seed = seed << 30};
    EXPECT_GRADIENTS_ON_MODEL(
        random, {.deterministic = random.first_keys == 0 && seed % 2 == 0, .seeds = 1, .choice = choice()});
  }
}

TEST_P(AmpereBackwardGeneral, LeavesOutThePairsOfTheSeed) {
  for (const Mask mask : kMasks) {
    Shape plain = shape(mask, mask == Mask::causal ? DType::fp16 : DType::bf16);
    plain.dropout = {.p = 0.3F, .seed = 0x123456789};
    for (const bool deterministic : {false, true})
      EXPECT_GRADIENTS_ON_MODEL(
          plain, {.deterministic = deterministic, .with_dlse = true, .seeds = 1, .choice = choice()});
    EXPECT_GRADIENTS_ON_MODEL(with_sinks(sloped(capped(plain))), {.seeds = 1, .choice = choice()});
    plain.window = {60, 9};
    EXPECT_GRADIENTS_ON_MODEL(plain, {.seeds = 1, .choice = choice()});
  }
  for (const float p : {0.01F, 0.9F, 1.0F}) {
    Shape plain = shape(Mask::none, DType::fp16);
    plain.dropout = {.p = p, .seed = uint64_t{9} << 40};
    EXPECT_GRADIENTS_ON_MODEL(plain, {.seeds = 1, .choice = choice()});
  }
}

TEST_P(AmpereBackwardGeneral, LeavesOutPairsOfSpansAndSequences) {
  const auto keys = static_cast<int32_t>(tuning().tile_kv);
  Shape square = shape(Mask::causal);
  square.q_rows = square.kv_rows = std::max(2 * keys + 20, 150);
  square.dropout = {.p = 0.5F, .seed = 77};
  Shape documents = square, padding = square, first_keys = square;
  documents.documents = documents_of({keys + 17, 3, keys - 8}, square.kv_rows);
  padding.left_padding = {keys + 9, 0};
  first_keys.window = {20, 0};
  first_keys.first_keys = 3;
  for (const Shape& each : {documents, padding, first_keys})
    EXPECT_GRADIENTS_ON_MODEL(each, {.seeds = 1, .choice = choice()});
  const Shape some{.q_heads = 4,
                   .kv_heads = 2,
                   .head_dim = tuning().head_dim,
                   .dtype = DType::fp16,
                   .mask = Mask::causal,
                   .dropout = {.p = 0.2F, .seed = 5}};
  EXPECT_GRADIENTS_ON_MODEL(packed(some, {70, 1, 0, 5, 130}, {70, 90, 5, 0, 140}, 3),
                            {.seeds = 1, .choice = choice()});
  Shape padded_rows = some;
  padded_rows.q_rows = 70;
  padded_rows.kv_rows = 80;
  EXPECT_GRADIENTS_ON_MODEL(padded(padded_rows, {70, 3, 20}, {17, 80, 70}), {.seeds = 1, .choice = choice()});
}

// Blocks run in another order with every seed, and with them, unless they take turns, the additions to dq.
TEST_P(AmpereBackwardGeneral, DeterministicMeansTheSameBits) {
  Shape many = capped({.q_heads = 2,
                       .kv_heads = 2,
                       .q_rows = 100,
                       .kv_rows = 4 * tuning().tile_kv - 12,
                       .head_dim = tuning().head_dim,
                       .dtype = DType::fp16});
  BackwardProblem problem(many);
  for (const bool deterministic : {true, false}) {
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

}  // namespace
}  // namespace flashmoe::test::ampere_backward_general_test
