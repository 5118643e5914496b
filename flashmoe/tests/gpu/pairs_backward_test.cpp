// SPDX-License-Identifier: MIT
// Gradients on a GPU where a bool tensor says which pairs count, or another is added to scores: element by
// element against the oracle.
//   FLASHMOE_SWEEP=100   so many random problems instead of 40
#include <gtest/gtest.h>

#include "device/probe.h"
#include "gpu/gradients_on_gpu.h"
#include "gpu/on_gpu.h"
#include "support/general.h"
#include "support/pair_patterns.h"

namespace flashmoe::test::pairs_backward_test {
namespace {

using Pattern = bool (*)(int64_t, int64_t, int64_t, int64_t);
constexpr Pattern kScattered = nullptr;  // a third is hidden
constexpr Pattern kPatterns[] = {kScattered,          &causal_pairs, &patches_of_pairs,
                                 &some_rows_and_keys, &all_pairs,    &no_pairs};

PairType own_type(DType dtype) { return dtype == DType::fp16 ? PairType::fp16 : PairType::bf16; }

Shape with_pairs(Shape shape, Pattern pattern, PairType type = PairType::boolean) {
  shape.pairs = type;
  shape.pairs_aligned = true;
  if (pattern != kScattered) shape.pairs_shown = pattern;
  return shape;
}

// Small enough for compute-sanitizer.
TEST(GpuSmall, GradientsWithTensorsOfEveryHeadDim) {
  SKIP_WITHOUT_GPU();
  if (device::probe().arch != 90) GTEST_SKIP() << "hopper_backward needs compute capability 9.0";
  for (const int64_t head_dim : {64, 128, 256}) {
    for (const DType dtype : {DType::fp16, DType::bf16}) {
      for (const Pattern pattern : kPatterns) {
        for (const PairType type : {PairType::boolean, own_type(dtype)}) {
          if (type != PairType::boolean && head_dim == 256) continue;  // hopper_backward has no room
          for (const bool deterministic : {false, true}) {
            const Shape shape = with_pairs({.batch = 2,
                                            .q_heads = 2,
                                            .kv_heads = 1,
                                            .q_rows = 450,
                                            .kv_rows = 290,
                                            .head_dim = head_dim,
                                            .dtype = dtype},
                                           pattern, type);
            EXPECT_EQ(trouble_with_gradients(shape,
                                             {.choice = {.kernel = dispatch::BackwardKernel::hopper_backward},
                                              .deterministic = deterministic,
                                              .with_dlse = !deterministic}),
                      "");
          }
        }
      }
    }
  }
}

constexpr PairType kTypes[] = {PairType::fp32, PairType::fp16, PairType::bf16, PairType::boolean};
constexpr dispatch::BackwardChoice kAmpere{.kernel = dispatch::BackwardKernel::ampere_backward};

// The same in the general form of ampere_backward, whatever else is chosen here, shared along any dimension.
TEST(GpuSmall, GradientsWithTensorsInTheGeneralForm) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {64, 128, 256}) {
    for (int shared = 0; shared < 16; ++shared) {
      for (const PairType type : kTypes) {
        Shape shape = with_pairs({.batch = 2,
                                  .q_heads = 2,
                                  .kv_heads = 1,
                                  .q_rows = 150,
                                  .kv_rows = 139,
                                  .head_dim = head_dim,
                                  .dtype = shared % 2 == 0 ? DType::bf16 : DType::fp16},
                                 kPatterns[shared % 5], type);
        shape.pairs_aligned = shared % 3 == 0;
        for (std::size_t i = 0; i < 4; ++i) shape.pairs_shared[i] = (shared >> i & 1) != 0;
        for (const bool deterministic : {false, true})
          EXPECT_EQ(trouble_with_gradients(shape, {.choice = kAmpere, .deterministic = deterministic}), "");
      }
    }
  }
}

TEST(GpuPairs, GradientsOfManyTilesInTheGeneralForm) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {64, 128, 256}) {
    for (const PairType type : kTypes) {
      Shape shape = with_pairs({.batch = 2,
                                .q_heads = 4,
                                .kv_heads = 2,
                                .q_rows = 261,
                                .kv_rows = 300,
                                .head_dim = head_dim,
                                .dtype = DType::bf16,
                                .mask = type == PairType::fp32 ? Mask::causal : Mask::none},
                               kScattered, type);
      for (const bool shared : {false, true}) {
        shape.pairs_shared = {shared, false, false, false};
        for (const bool deterministic : {false, true})
          EXPECT_EQ(trouble_with_gradients(shape, {.choice = kAmpere, .deterministic = deterministic}), "");
      }
    }
  }
}

TEST(GpuPairs, RandomGradientsAgreeInTheGeneralForm) {
  SKIP_WITHOUT_GPU();
  const uint64_t count = number_from("FLASHMOE_SWEEP", 40);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    Dice dice(seed + 6000);
    Shape shape{.seed = seed};
    shape.dtype = dice.one_of({DType::fp16, DType::bf16});
    shape.mask = dice.one_of(kMasks);
    shape.layout = dice.one_of({Layout::bhsd, Layout::bshd});
    shape.head_dim = dice.one_of({40, 64, 64, 96, 128, 128, 256});
    shape.batch = dice.one_of({1, 2, 3});
    shape.kv_heads = dice.one_of({1, 2});
    shape.q_heads = shape.kv_heads * dice.one_of({1, 2, 4});
    shape.kv_rows = dice.length(400);
    shape.q_rows = dice.between(0, 1) == 0 ? shape.kv_rows : dice.length(400);
    shape.window = dice.window(shape.kv_rows);
    shape = with_pairs(shape, dice.one_of(kPatterns), dice.one_of(kTypes));
    shape.pairs_aligned = seed % 2 == 0;
    shape.pairs_step = dice.one_of({1, 1, 2});
    for (bool& shared : shape.pairs_shared) shared = dice.between(0, 2) == 0;
    if (dice.between(0, 1) == 0) throw_spans(dice, shape);
    throw_scores(dice, shape);
    if (dice.between(0, 2) == 0) shape.dropout = {.p = 0.3F, .seed = seed << 30};
    const bool deterministic = shape.first_keys == 0 && seed % 4 < 2;
    EXPECT_EQ(trouble_with_gradients(
                  shape, {.choice = kAmpere, .deterministic = deterministic, .with_dlse = seed % 3 == 0}),
              "");
    EXPECT_EQ(trouble_with_gradients(shape, {.deterministic = deterministic}), "");  // what is chosen here
  }
}

TEST(GpuPairs, GradientsOfManyTiles) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {64, 128, 256}) {
    for (const Pattern pattern : {kScattered, &causal_pairs, &patches_of_pairs}) {
      Shape shape = with_pairs({.q_heads = 4,
                                .kv_heads = 2,
                                .q_rows = 600,
                                .kv_rows = 700,
                                .head_dim = head_dim,
                                .dtype = DType::bf16},
                               pattern);
      shape.pairs_shared = {false, pattern == kScattered, false, false};
      for (const PairType type : {PairType::boolean, PairType::bf16}) {
        shape.pairs = type;
        for (const bool deterministic : {false, true})
          EXPECT_EQ(trouble_with_gradients(shape, {.deterministic = deterministic}), "");
      }
    }
  }
}

TEST(GpuPairs, RandomGradientsAgreeWithTheOracle) {
  SKIP_WITHOUT_GPU();
  const uint64_t count = number_from("FLASHMOE_SWEEP", 40);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    Dice dice(seed + 4000);
    Shape shape{.seed = seed};
    shape.dtype = dice.one_of({DType::fp16, DType::bf16, DType::bf16});
    shape.mask = dice.one_of(kMasks);
    shape.head_dim = dice.one_of({40, 64, 64, 96, 128, 128, 256});
    shape.batch = dice.one_of({1, 2, 3});
    shape.kv_heads = dice.one_of({1, 2});
    shape.q_heads = shape.kv_heads * dice.one_of({1, 2, 4});
    shape.kv_rows = dice.length(400);
    shape.q_rows = dice.between(0, 1) == 0 ? shape.kv_rows : dice.length(400);
    shape.window = dice.window(shape.kv_rows);
    for (bool& shared : shape.pairs_shared) shared = dice.between(0, 3) == 0;
    if (dice.between(0, 2) == 0) shape.sinks.assign(static_cast<std::size_t>(shape.q_heads), 0.5F);
    shape =
        with_pairs(shape, dice.one_of(kPatterns), seed % 2 == 0 ? PairType::boolean : own_type(shape.dtype));
    EXPECT_EQ(trouble_with_gradients(shape, {.deterministic = seed % 4 < 2, .with_dlse = seed % 3 == 0}), "");
  }
}

}  // namespace
}  // namespace flashmoe::test::pairs_backward_test
