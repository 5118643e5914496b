// SPDX-License-Identifier: MIT
// Gradients of sequences of different lengths on the model of a GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/ampere_backward/spec.h"
#include "kernels/backward_on_model.h"
#include "kernels/hopper_backward/spec.h"
#include "kernels/length_shapes.h"
#include "problem/sequences.h"

namespace flashmoe::test::lengths_backward_test {
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
    shape.hidden = dice.hidden_but_finite();
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

// ---- Tensor-core kernels ----

struct Form {
  dispatch::BackwardKernel kernel;
  int head_dim, tile_q, tile_kv;
};

// Every row of hopper_backward's table, and those of ampere_backward's that its general form has.
std::vector<Form> forms() {
  std::vector<Form> all;
  for (const auto& t : kernels::hopper_backward::kTunings)
    all.push_back({dispatch::BackwardKernel::hopper_backward, t.head_dim, t.tile_q, t.tile_kv});
  namespace ampere = kernels::ampere_backward;
  for (int i = 0; i < ampere::kNumTunings; ++i) {
    const ampere::Tuning& t = ampere::kTunings[i];
    if (ampere::is_general(i))
      all.push_back({dispatch::BackwardKernel::ampere_backward, t.head_dim, t.tile_q, t.tile_kv});
  }
  return all;
}

class BackwardLengths : public testing::TestWithParam<Form> {
 protected:
  static const Form& tuning() { return GetParam(); }
  static dispatch::BackwardChoice choice() { return {.kernel = GetParam().kernel}; }
  static Shape shape(Mask mask, DType dtype = DType::bf16) {
    return {.q_heads = 2, .kv_heads = 1, .head_dim = tuning().head_dim, .dtype = dtype, .mask = mask};
  }
};
INSTANTIATE_TEST_SUITE_P(Form, BackwardLengths, testing::ValuesIn(forms()), [](const auto& form) {
  return std::string(dispatch::name_of(form.param.kernel)) + "_" + std::to_string(form.param.head_dim);
});

// Whole tiles and a row more or less, single rows, none, and other numbers of keys than of rows.
TEST_P(BackwardLengths, PackedSequencesAgreeWithTheOracle) {
  const int32_t q = tuning().tile_q, k = tuning().tile_kv;
  for (const Mask mask : kMasks) {
    EXPECT_GRADIENTS_ON_MODEL(
        packed(shape(mask), {q, 1, q + 1, 0, q - 1, 5}, {k, 2 * k + 1, 9, 30, k - 1, 0}, 4),
        {.with_dlse = true, .seeds = 1, .choice = choice()});
  }
  for (const bool deterministic : {false, true}) {
    EXPECT_GRADIENTS_ON_MODEL(packed(shape(Mask::causal, DType::fp16), {3, 2 * q + 40}, {3, 2 * q + 40}),
                              {.deterministic = deterministic, .seeds = 2, .choice = choice()});
  }
}

TEST_P(BackwardLengths, PaddedBatchesAgreeWithTheOracle) {
  Shape batch = shape(Mask::causal, DType::fp16);
  batch.q_rows = 150;
  batch.kv_rows = 2 * tuning().tile_kv + 10;
  batch.layout = Layout::bshd;
  const auto keys = static_cast<int32_t>(batch.kv_rows);
  EXPECT_GRADIENTS_ON_MODEL(padded(batch, {150, 0, 13, 1}, {keys, keys / 2, 0, 5}),
                            {.seeds = 1, .choice = choice()});
  EXPECT_GRADIENTS_ON_MODEL(packed_queries_and_padded_keys(shape(Mask::causal)),
                            {.seeds = 1, .choice = choice()});
}

TEST_P(BackwardLengths, GoWithWindows) {
  const int32_t q = tuning().tile_q, k = tuning().tile_kv;
  Shape windowed = packed(shape(Mask::none), {2 * q + 30, 90, 7}, {3 * k + 5, 40, 250});
  for (const bool deterministic : {false, true}) {
    windowed.mask = Mask::none;
    windowed.window = {k + 3, 20};
    EXPECT_GRADIENTS_ON_MODEL(windowed, {.deterministic = deterministic, .seeds = 1, .choice = choice()});
    windowed.mask = Mask::causal;
    windowed.window = {13, 0};
    EXPECT_GRADIENTS_ON_MODEL(windowed, {.deterministic = deterministic, .seeds = 1, .choice = choice()});
  }
}

// Blocks run in another order with every seed, and with them, unless they take turns, the additions to dq.
// Blocks that take one tile after the other take them in their order on the model, whichever comes first.
TEST_P(BackwardLengths, DeterministicMeansTheSameBits) {
  const int32_t q = tuning().tile_q, k = tuning().tile_kv;
  const bool persistent =
      GetParam().kernel == dispatch::BackwardKernel::hopper_backward && tuning().head_dim <= 128;
  BackwardProblem problem(packed(shape(Mask::none, DType::fp16), {q + 9, q, 30}, {5 * k + 7, 6 * k, 2 * k}));
  for (const bool deterministic : {true, false}) {
    std::vector<std::byte> first;
    bool same = true;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      problem.poison_gradients();
      run_backward_on_model(problem, deterministic, {.seed = seed}, {}, choice());
      if (seed == 0) first = problem.gradient_bytes();
      same = same && problem.gradient_bytes() == first;
    }
    EXPECT_EQ(same, deterministic || persistent);
  }
}

// A key that is not there scores 0, which is far above those that are.
TEST_P(BackwardLengths, TakeScoresFarBelowZero) {
  Shape low = shape(Mask::none, DType::fp16);
  low.spread = 20;
  EXPECT_GRADIENTS_ON_MODEL(packed(low, {5, 70, 400}, {1, 3, 2}), {.seeds = 1, .choice = choice()});
}

TEST_P(BackwardLengths, WhatRowsHoldThatDontCountReachesNobody) {
  const int32_t q = tuning().tile_q, k = tuning().tile_kv;
  for (const Mask mask : {Mask::none, Mask::causal}) {
    Shape used = packed(shape(mask), {q + 40, 20, 30}, {k + 50, 24, 61}, 3);
    used.q_used = {q + 33, 0, 30};
    used.k_used = {k + 41, 24, 60};
    expect_gradients_alone(used, choice());
  }
}

constexpr dispatch::BackwardKernel kTensorCores[] = {dispatch::BackwardKernel::hopper_backward,
                                                     dispatch::BackwardKernel::ampere_backward};

TEST(BackwardLengthsShapes, RandomOnesAgreeWithTheOracle) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    const Shape shape = random_shape(seed, 500);
    if (shape.kv_rows == 0 || shape.q_rows == 0) continue;
    for (const auto kernel : kTensorCores)
      EXPECT_GRADIENTS_ON_MODEL(shape,
                                {.deterministic = seed % 2 == 0, .seeds = 1, .choice = {.kernel = kernel}});
  }
}

// Nobody has looked at lengths that lie on the GPU: whatever they say, nobody leaves tensors and workspace.
TEST(BackwardLengthsShapes, StayInsideWhateverLengthsSay) {
  BackwardProblem problem(packed({.q_heads = 2, .head_dim = 64, .dtype = DType::bf16, .mask = Mask::causal},
                                 {130, 20, 50}, {130, 20, 50}));
  const int32_t q_starts[][4] = {{-5, 190, 20, 5000}, {0, 200, 20, 200}},
                k_starts[][4] = {{70, 3, 190, -1}, {0, 200, 10, 190}};
  for (const int i : {0, 1}) {
    problem.forward.args.lengths.q_starts = q_starts[i];
    problem.forward.args.lengths.k_starts = k_starts[i];
    for (const auto kernel : kTensorCores)
      for (const bool deterministic : {false, true})
        run_backward_on_model(problem, deterministic, {.turns_pass = true}, {}, {.kernel = kernel});
  }
}

// In order, of heads that do not fit the L2 cache together: behind the first one's tiles, and the rest of the
// list, which there may be, come those of the next.
TEST(BackwardLengthsShapes, HeadsComeOneAfterTheOther) {
  const Shape shape = padded({.q_heads = 2,
                              .kv_heads = 2,
                              .q_rows = 140,
                              .kv_rows = 17000,
                              .head_dim = 128,
                              .dtype = DType::bf16,
                              .mask = Mask::causal},
                             {40, 140}, {150, 130});
  for (const auto kernel : kTensorCores) {
    const dispatch::BackwardChoice choice{.kernel = kernel};
    EXPECT_EQ(dispatch::plan_backward(Problem(shape).problem, true, device::find("H200"), true, choice)
                  .heads_at_once,
              1);
    EXPECT_GRADIENTS_ON_MODEL(shape, {.deterministic = true, .seeds = 1, .choice = choice});
  }
}

// ---- The general form of ampere_backward ----

// A cap, slopes of every sequence and head, and sinks.
void change_scores(Shape& shape) {
  shape.softcap = 3;
  for (int64_t i = 0; i < shape.batch * shape.q_heads; ++i)
    shape.slopes.push_back(std::exp2(-static_cast<float>(i % 7)));
  for (int64_t h = 0; h < shape.q_heads; ++h) shape.sinks.push_back(static_cast<float>(h) - 1);
}

TEST_P(BackwardLengths, GoWithWindowsAndScores) {
  if (GetParam().kernel == dispatch::BackwardKernel::hopper_backward) GTEST_SKIP() << "has no form for both";
  const int32_t q = tuning().tile_q, k = tuning().tile_kv;
  for (const Mask mask : kMasks) {
    Shape changed = packed(shape(mask), {2 * q + 30, 5, 90, 0}, {2 * k + 5, 170, 20, 9}, 3);
    change_scores(changed);
    EXPECT_GRADIENTS_ON_MODEL(changed, {.with_dlse = true, .seeds = 1, .choice = choice()});
    changed.window = {50, 4};
    EXPECT_GRADIENTS_ON_MODEL(changed, {.seeds = 1, .choice = choice()});
  }
  Shape batch = shape(Mask::causal, DType::fp16);
  batch.q_rows = 100;
  batch.kv_rows = k + 10;
  batch = padded(batch, {100, 0, 13}, {k + 10, k / 2, 5});
  batch.scale = -0.1F;
  change_scores(batch);
  EXPECT_GRADIENTS_ON_MODEL(batch, {.seeds = 1, .choice = choice()});
}

TEST(BackwardLengthsShapes, RandomOnesWithScoresAgreeWithTheOracle) {
  for (uint64_t seed = 101; seed <= 124; ++seed) {
    Shape shape = random_shape(seed, 400);
    if (shape.kv_rows == 0 || shape.q_rows == 0) continue;
    change_scores(shape);
    if (seed % 3 == 0) shape.softcap = 0;
    if (seed % 3 == 1) shape.slopes.clear();
    EXPECT_GRADIENTS_ON_MODEL(shape,
                              {.seeds = 1, .choice = {.kernel = dispatch::BackwardKernel::ampere_backward}});
  }
}

TEST(LengthsBackwardPlan, TensorCoresTakeThem) {
  using dispatch::BackwardKernel;
  const device::Spec h200 = device::find("H200"), l4 = device::find("L4");
  Shape shape = packed({.q_heads = 2, .dtype = DType::bf16}, {300, 50}, {300, 60});
  for (const int64_t head_dim : {8, 64, 72, 128, 256}) {
    shape.head_dim = head_dim;
    const Problem problem(shape);
    for (const bool deterministic : {false, true}) {
      EXPECT_EQ(dispatch::plan_backward(problem.problem, true, h200, deterministic).kernel,
                BackwardKernel::hopper_backward);
    }
    for (const auto& [addressing, spec] :
         {std::pair(dispatch::Addressing(true), l4), std::pair(dispatch::Addressing(true, false), h200)}) {
      const auto plan = dispatch::plan_backward(problem.problem, addressing, spec, false);
      EXPECT_EQ(plan.kernel, BackwardKernel::ampere_backward);
      EXPECT_TRUE(plan.general);
    }
    for (const device::Spec& spec : {h200, l4}) {
      EXPECT_EQ(dispatch::plan_backward(problem.problem, false, spec, false).kernel,
                BackwardKernel::naive_backward);
    }
  }
  shape.softcap = 3;
  EXPECT_EQ(dispatch::plan_backward(Problem(shape).problem, true, h200, true).kernel,
            BackwardKernel::ampere_backward);
  shape.chunk = 64;
  const auto in_order = dispatch::plan_backward(Problem(shape).problem, true, h200, true);
  EXPECT_EQ(in_order.kernel, BackwardKernel::naive_backward);
  EXPECT_NE(std::string(in_order.reason).find("fixed order"), std::string::npos) << in_order.reason;
}

}  // namespace
}  // namespace flashmoe::test::lengths_backward_test
