// SPDX-License-Identifier: MIT
// Gradients of sequences of different lengths on the model of a GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "kernels/backward_on_model.h"
#include "kernels/hopper_backward/spec.h"
#include "kernels/length_shapes.h"
#include "problem/sequences.h"

namespace flashmoe::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr dispatch::BackwardChoice kNaiveBackward{.kernel = dispatch::BackwardKernel::naive_backward};

// ---- naive_backward ----

TEST(NaiveBackwardLengths, AgreeWithTheOracle) {
  for (const DType dtype : kDTypes) {
    for (const Mask mask : kMasks) {
      const Shape shape{.q_heads = 4, .kv_heads = 2, .head_dim = 24, .dtype = dtype, .mask = mask};
      EXPECT_GRADIENTS_ON_MODEL(packed(shape, {40, 1, 130, 3, 0, 17}, {40, 90, 30, 3, 64, 0}, 5),
                                {.with_dlse = true, .seeds = 1, .choice = kNaiveBackward});
    }
  }
  EXPECT_GRADIENTS_ON_MODEL(
      padded({.q_heads = 2, .q_rows = 70, .kv_rows = 80, .head_dim = 16, .mask = Mask::causal},
             {70, 0, 13, 1}, {80, 80, 0, 5}),
      {.seeds = 1, .choice = kNaiveBackward});
  EXPECT_GRADIENTS_ON_MODEL(packed_queries_and_padded_keys({.q_heads = 2, .head_dim = 16}),
                            {.seeds = 1, .choice = kNaiveBackward});
}

TEST(NaiveBackwardLengths, GoWithWindowsAndScores) {
  Shape shape =
      packed({.q_heads = 4, .kv_heads = 2, .head_dim = 40, .dtype = DType::bf16, .mask = Mask::causal},
             {90, 5, 133, 4}, {90, 170, 20, 0}, 3);
  shape.window = {50, 0};
  EXPECT_GRADIENTS_ON_MODEL(shape, {.seeds = 1, .choice = kNaiveBackward});
  shape.softcap = 3;
  for (int i = 0; i < 16; ++i) shape.slopes.push_back(std::exp2(-static_cast<float>(i % 7)));
  for (int h = 0; h < 4; ++h) shape.sinks.push_back(static_cast<float>(h) - 1);
  EXPECT_GRADIENTS_ON_MODEL(shape, {.with_dlse = true, .seeds = 1, .choice = kNaiveBackward});
}

TEST(NaiveBackwardLengths, RandomOnesAgreeWithTheOracle) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    Dice dice(seed);
    Shape shape{.q_heads = 2, .kv_heads = 1, .head_dim = 24, .seed = seed};
    shape.dtype = dice.one_of(kDTypes);
    shape.mask = dice.one_of(kMasks);
    throw_lengths(dice, 400, 400, shape);
    shape.window = dice.window(200);
    EXPECT_GRADIENTS_ON_MODEL(shape, {.seeds = 1, .choice = kNaiveBackward});
  }
}

// Whatever lies in rows that don't count, the LSE included.
void expect_gradients_alone(Shape shape, const dispatch::BackwardChoice& choice) {
  BackwardProblem problem(shape, true);
  const reference::BackwardResult expected = problem.oracle();
  const Sequences sequences(problem.forward.args.lengths, problem.forward.problem);
  const ForwardArgs& args = problem.forward.args;
  for (const float poison : {kNaN, kInf}) {
    const auto spoil = [&](const Tensor& t, const BatchRows& gap) {
      for (int64_t h = 0; h < t.sizes[1]; ++h)
        for (int64_t s = gap.rows.begin; s < gap.rows.end; ++s) Problem::set_row(t, gap.batch, h, s, poison);
    };
    const auto spoil_q = [&](const BatchRows& gap) {
      for (const Tensor& t : {args.q, args.out, problem.dout}) spoil(t, gap);
    };
    const auto spoil_k = [&](const BatchRows& gap) {
      for (const Tensor& t : {args.k, args.v}) spoil(t, gap);
    };
    for (int64_t i = 0; i < sequences.count(); ++i) {
      spoil_q(sequences[i].q_gap());
      spoil_k(sequences[i].k_gap());
    }
    spoil_q({0, sequences.q_behind()});
    spoil_k({0, sequences.k_behind()});
    problem.poison_gradients();
    run_backward_on_model(problem, false, {}, {}, choice);
    EXPECT_EQ(problem.disagreement(expected), "") << poison << " in " << describe(shape);
  }
}

TEST(NaiveBackwardLengths, WhatRowsHoldThatDontCountReachesNobody) {
  Shape shape = packed({.q_heads = 2, .head_dim = 32, .dtype = DType::bf16, .mask = Mask::causal},
                       {40, 20, 30}, {50, 24, 61}, 3);
  shape.q_used = {33, 0, 30};
  shape.k_used = {41, 24, 60};
  expect_gradients_alone(shape, kNaiveBackward);
}

// ---- hopper_backward ----

class HopperBackwardLengths : public testing::TestWithParam<int> {
 protected:
  static const kernels::hopper_backward::Tuning& tuning() {
    return kernels::hopper_backward::kTunings[GetParam()];
  }
  static constexpr dispatch::BackwardChoice kChoice{.kernel = dispatch::BackwardKernel::hopper_backward};
  static Shape shape(Mask mask, DType dtype = DType::bf16) {
    return {.q_heads = 2, .kv_heads = 1, .head_dim = tuning().head_dim, .dtype = dtype, .mask = mask};
  }
};
INSTANTIATE_TEST_SUITE_P(Tuning, HopperBackwardLengths,
                         testing::Range(0, kernels::hopper_backward::kNumTunings));

// Whole tiles and a row more or less, single rows, none, and other numbers of keys than of rows.
TEST_P(HopperBackwardLengths, PackedSequencesAgreeWithTheOracle) {
  const int32_t q = tuning().tile_q, k = tuning().tile_kv;
  for (const Mask mask : kMasks) {
    EXPECT_GRADIENTS_ON_MODEL(
        packed(shape(mask), {q, 1, q + 1, 0, q - 1, 5}, {k, 2 * k + 1, 9, 30, k - 1, 0}, 4),
        {.with_dlse = true, .seeds = 1, .choice = kChoice});
  }
  EXPECT_GRADIENTS_ON_MODEL(packed(shape(Mask::causal, DType::fp16), {3, 2 * q + 40}, {3, 2 * q + 40}),
                            {.seeds = 2, .choice = kChoice});
}

TEST_P(HopperBackwardLengths, PaddedBatchesAgreeWithTheOracle) {
  Shape batch = shape(Mask::causal, DType::fp16);
  batch.q_rows = 150;
  batch.kv_rows = 2 * tuning().tile_kv + 10;
  batch.layout = Layout::bshd;
  const auto keys = static_cast<int32_t>(batch.kv_rows);
  EXPECT_GRADIENTS_ON_MODEL(padded(batch, {150, 0, 13, 1}, {keys, 80, 0, 5}),
                            {.seeds = 1, .choice = kChoice});
  EXPECT_GRADIENTS_ON_MODEL(packed_queries_and_padded_keys(shape(Mask::causal)),
                            {.seeds = 1, .choice = kChoice});
}

TEST_P(HopperBackwardLengths, GoWithWindows) {
  const int32_t q = tuning().tile_q, k = tuning().tile_kv;
  Shape windowed = packed(shape(Mask::none), {2 * q + 30, 90, 7}, {3 * k + 5, 40, 250});
  windowed.window = {k + 3, 20};
  EXPECT_GRADIENTS_ON_MODEL(windowed, {.seeds = 1, .choice = kChoice});
  windowed.mask = Mask::causal;
  windowed.window = {13, 0};
  EXPECT_GRADIENTS_ON_MODEL(windowed, {.seeds = 1, .choice = kChoice});
}

// A key that is not there scores 0, which is far above those that are.
TEST_P(HopperBackwardLengths, TakeScoresFarBelowZero) {
  Shape low = shape(Mask::none, DType::fp16);
  low.spread = 20;
  EXPECT_GRADIENTS_ON_MODEL(packed(low, {5, 70, 400}, {1, 3, 2}), {.seeds = 1, .choice = kChoice});
}

TEST_P(HopperBackwardLengths, WhatRowsHoldThatDontCountReachesNobody) {
  const int32_t q = tuning().tile_q, k = tuning().tile_kv;
  for (const Mask mask : {Mask::none, Mask::causal}) {
    Shape used = packed(shape(mask), {q + 40, 20, 30}, {k + 50, 24, 61}, 3);
    used.q_used = {q + 33, 0, 30};
    used.k_used = {k + 41, 24, 60};
    expect_gradients_alone(used, kChoice);
  }
}

TEST(HopperBackwardLengthsShapes, RandomOnesAgreeWithTheOracle) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    const Shape shape = random_shape(seed, 500);
    if (shape.kv_rows == 0 || shape.q_rows == 0) continue;
    EXPECT_GRADIENTS_ON_MODEL(shape,
                              {.seeds = 1, .choice = {.kernel = dispatch::BackwardKernel::hopper_backward}});
  }
}

// Nobody has looked at lengths that lie on the GPU: whatever they say, nobody leaves tensors and workspace.
TEST(HopperBackwardLengthsShapes, StayInsideWhateverLengthsSay) {
  BackwardProblem problem(packed({.q_heads = 2, .head_dim = 64, .dtype = DType::bf16, .mask = Mask::causal},
                                 {130, 20, 50}, {130, 20, 50}));
  const int32_t q_starts[] = {-5, 190, 20, 5000}, k_starts[] = {70, 3, 190, -1};
  problem.forward.args.lengths.q_starts = q_starts;
  problem.forward.args.lengths.k_starts = k_starts;
  run_backward_on_model(problem, false, {}, {}, {.kernel = dispatch::BackwardKernel::hopper_backward});
}

TEST(LengthsBackwardPlan, HopperTakesThemInNoOrder) {
  const device::Spec spec = device::find("H200");
  Shape shape = packed({.q_heads = 2, .dtype = DType::bf16}, {300, 50}, {300, 60});
  for (const int64_t head_dim : {8, 64, 72, 128, 256}) {
    shape.head_dim = head_dim;
    const Problem problem(shape);
    EXPECT_EQ(dispatch::plan_backward(problem.problem, true, spec, false).kernel,
              dispatch::BackwardKernel::hopper_backward);
    const auto in_order = dispatch::plan_backward(problem.problem, true, spec, true);
    EXPECT_EQ(in_order.kernel, dispatch::BackwardKernel::naive_backward);
    EXPECT_NE(std::string(in_order.reason).find("fixed order"), std::string::npos) << in_order.reason;
    EXPECT_EQ(dispatch::plan_backward(problem.problem, false, spec, false).kernel,
              dispatch::BackwardKernel::naive_backward);
    EXPECT_EQ(dispatch::plan_backward(problem.problem, true, device::find("L4"), false).kernel,
              dispatch::BackwardKernel::naive_backward);
  }
  shape.softcap = 3;
  EXPECT_EQ(dispatch::plan_backward(Problem(shape).problem, true, spec, false).kernel,
            dispatch::BackwardKernel::naive_backward);
}

}  // namespace
}  // namespace flashmoe::test
