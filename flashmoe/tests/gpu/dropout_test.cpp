// SPDX-License-Identifier: MIT
// Dropout on a GPU: the pairs that the oracle leaves out for the same seed, forward and backward.
#include <gtest/gtest.h>

#include <cmath>

#include "gpu/gradients_on_gpu.h"
#include "gpu/on_gpu.h"
#include "numeric/dropout.h"
#include "support/dice.h"
#include "support/general.h"
#include "support/sequences.h"
#include "support/spans.h"

namespace flashmoe::test::dropout_test {
namespace {

// By what is chosen here, and by the scalar kernels.
void expect_agreement(const Shape& shape) {
  EXPECT_RUNS_ON_GPU(shape);
  EXPECT_RUNS_ON_GPU(shape, {.kernel = dispatch::ForwardKernel::naive});
  EXPECT_EQ(trouble_with_gradients(shape, {.with_dlse = true}), "");
  EXPECT_EQ(trouble_with_gradients(shape, {.choice = {.kernel = dispatch::BackwardKernel::naive_backward}}),
            "");
}

TEST(GpuSmall, DropoutOfEveryTypeHeadDimAndMask) {
  SKIP_WITHOUT_GPU();
  for (const DType dtype : kDTypes) {
    for (const int64_t dim : {40, 128, 256}) {
      for (const Mask mask : kMasks) {
        Shape shape{.batch = 2,
                    .q_heads = 4,
                    .kv_heads = 2,
                    .q_rows = 70,
                    .kv_rows = 129,
                    .head_dim = dim,
                    .dtype = dtype,
                    .mask = mask};
        shape.dropout = {.p = 0.3F, .seed = 0x123456789};
        expect_agreement(shape);
      }
    }
  }
}

TEST(GpuSmall, DropoutOfSequencesOfDifferentLengths) {
  SKIP_WITHOUT_GPU();
  for (const DType dtype : kDTypes) {
    for (const int64_t dim : {40, 128, 256}) {
      Shape shape =
          packed({.q_heads = 4, .kv_heads = 2, .head_dim = dim, .dtype = dtype, .mask = Mask::causal},
                 {70, 1, 0, 5, 130}, {70, 90, 5, 0, 140}, 3);
      shape.dropout = {.p = 0.5F, .seed = 3};
      expect_agreement(shape);
    }
  }
}

TEST(GpuDropout, RandomOnesAgreeWithTheOracleBesideAllElse) {
  SKIP_WITHOUT_GPU();
  constexpr PairType kPairTypes[] = {PairType::fp32, PairType::bf16, PairType::boolean};
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Dice dice(seed);
    Shape shape{.q_heads = 2, .kv_heads = 1, .seed = seed};
    shape.dropout = {.p = dice.one_of({0.01F, 0.25F, 0.9F}), .seed = seed << 40 | 7};
    shape.dtype = dice.one_of(kDTypes);
    shape.head_dim = dice.one_of({24, 64, 100, 192});
    shape.mask = dice.one_of(kMasks);
    shape.layout = dice.one_of({Layout::bhsd, Layout::bshd, Layout::padded});
    shape.batch = dice.one_of({1, 2});
    shape.kv_rows = dice.length(300);
    shape.q_rows = dice.length(300);
    shape.window = dice.window(shape.kv_rows);
    if (dice.between(0, 1) == 0) {
      shape.pairs = dice.one_of(kPairTypes);
      for (bool& shared : shape.pairs_shared) shared = dice.between(0, 2) == 0;
    }
    if (dice.between(0, 1) == 0) throw_spans(dice, shape);
    if (dice.between(0, 1) == 0) shape.softcap = 5;
    if (dice.between(0, 1) == 0) shape.slopes = {0.5F, 0.1F};
    if (dice.between(0, 1) == 0) shape.sinks = {1, -2};
    expect_agreement(shape);
  }
}

// The general forms, beside all that they take.
TEST(GpuDropout, RandomOnesAgreeInTheGeneralForms) {
  SKIP_WITHOUT_GPU();
  const dispatch::ForwardChoice forward{.kernel = dispatch::ForwardKernel::ampere_forward};
  const dispatch::BackwardChoice backward{.kernel = dispatch::BackwardKernel::ampere_backward};
  const uint64_t count = number_from("FLASHMOE_SWEEP", 60);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    Shape shape = random_general_shape(seed, 900);
    if (shape.q_rows == 0 || shape.kv_rows == 0) continue;  // no kernel is asked
    shape.dropout = {.p = seed % 2 == 0 ? 0.1F : 0.6F, .seed = seed << 30};
    EXPECT_RUNS_ON_GPU(shape, forward);
    EXPECT_EQ(trouble_with_gradients(shape, {.choice = backward}), "");
  }
}

// More blocks than an SM holds, with sums of dq in a fixed order and in any.
TEST(GpuDropout, ManyTiles) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {64, 128, 256}) {
    Shape shape{.batch = 2,
                .q_heads = 16,
                .kv_heads = 4,
                .q_rows = 700,
                .kv_rows = 700,
                .head_dim = head_dim,
                .dtype = DType::bf16,
                .mask = Mask::causal};
    shape.dropout = {.p = 0.1F, .seed = 12};
    EXPECT_RUNS_ON_GPU(shape);
    for (const bool deterministic : {false, true})
      EXPECT_EQ(trouble_with_gradients(shape, {.deterministic = deterministic}), "");
  }
}

// Keys of equal weight, and values that tell them apart: outputs are the weights themselves.
TEST(GpuDropout, LeavesOutTheShareThatItIsToldAndThePairsOfTheSeed) {
  SKIP_WITHOUT_GPU();
  constexpr int64_t kHeads = 4, kRows = 2000, kKeys = 256;
  for (const float p : {0.001F, 0.1F, 0.5F, 0.999F}) {
    Shape shape{.q_heads = kHeads,
                .kv_heads = kHeads,
                .q_rows = kRows,
                .kv_rows = kKeys,
                .head_dim = kKeys,
                .dtype = DType::fp16,
                .scale = 0.0F};
    shape.dropout = {.p = p, .seed = 77};
    Problem problem(shape);
    for (int64_t head = 0; head < kHeads; ++head)
      for (int64_t key = 0; key < kKeys; ++key)
        for (int64_t d = 0; d < kKeys; ++d) Problem::set(problem.args.v, 0, head, key, d, d == key ? 16 : 0);
    GpuProblem gpu(problem);
    gpu.launch_by_api();
    ASSERT_EQ(gpu.download(), "");
    const PairDropout dropout(p, 77);
    int64_t kept = 0, others = 0;
    for (int64_t head = 0; head < kHeads; ++head) {
      for (int64_t row = 0; row < kRows; ++row) {
        for (int64_t key = 0; key < kKeys; ++key) {
          const bool is_kept = problem.out(0, head, row, key) != 0;
          kept += is_kept ? 1 : 0;
          others += is_kept != (dropout.factor(head, row, key) != 0) ? 1 : 0;
        }
      }
    }
    EXPECT_EQ(others, 0) << p;
    constexpr double kPairs = kHeads * kRows * kKeys;
    const double keep = 1 - std::round(p * 65536) / 65536;
    EXPECT_NEAR(static_cast<double>(kept) / kPairs, keep, 5 * std::sqrt(keep * (1 - keep) / kPairs)) << p;
  }
}

}  // namespace
}  // namespace flashmoe::test::dropout_test
