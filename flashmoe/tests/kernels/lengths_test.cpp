// SPDX-License-Identifier: MIT
// Sequences of different lengths on the model of a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/ampere_forward/launch.h"
#include "kernels/hopper_forward/spec.h"
#include "kernels/length_shapes.h"
#include "kernels/on_model.h"
#include "problem/sequences.h"
#include "support/sequences.h"

namespace flashmoe::test::lengths_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr dispatch::ForwardChoice kNaive{.kernel = dispatch::ForwardKernel::naive};
constexpr dispatch::ForwardChoice kAmpere{.kernel = dispatch::ForwardKernel::ampere_forward};

// ---- naive ----

TEST(NaiveLengths, PackedSequencesAgreeWithTheOracle) {
  for (const DType dtype : kDTypes) {
    for (const Mask mask : kMasks) {
      const Shape shape{.q_heads = 4,
                        .kv_heads = 2,
                        .head_dim = 24,
                        .dtype = dtype,
                        .mask = mask,
                        .layout = mask == Mask::none ? Layout::padded : Layout::bshd};
      EXPECT_RUNS_ON_MODEL(packed(shape, {40, 1, 130, 3, 0, 17}, {40, 90, 30, 3, 64, 0}, 5), kNaive, 1);
    }
  }
}

TEST(NaiveLengths, PaddedBatchesAgreeWithTheOracle) {
  for (const Layout layout : {Layout::bhsd, Layout::padded, Layout::reversed, Layout::broadcast}) {
    const Shape shape{.q_heads = 2,
                      .kv_heads = 2,
                      .q_rows = 70,
                      .kv_rows = 80,
                      .head_dim = 16,
                      .dtype = DType::bf16,
                      .mask = Mask::causal,
                      .layout = layout};
    EXPECT_RUNS_ON_MODEL(padded(shape, {70, 0, 13, 1}, {80, 80, 0, 5}), kNaive, 1);
    Shape keys_alone = padded(shape, {70, 70, 70}, {80, 7, 0});
    keys_alone.q_used.clear();
    EXPECT_RUNS_ON_MODEL(keys_alone, kNaive, 1);
  }
}

TEST(NaiveLengths, PackedQueriesGoWithPaddedKeys) {
  EXPECT_RUNS_ON_MODEL(
      packed_queries_and_padded_keys(
          {.q_heads = 4, .kv_heads = 2, .head_dim = 16, .dtype = DType::fp16, .mask = Mask::causal}),
      kNaive, 1);
}

// Rows before, between and behind sequences; none with both rows and keys.
TEST(NaiveLengths, RowsThatAreNobodysAreZero) {
  Shape shape = packed({.q_heads = 2, .head_dim = 16, .dtype = DType::bf16}, {30, 9}, {20, 40}, 2);
  for (auto* starts : {&shape.q_starts, &shape.k_starts})
    for (int32_t& start : *starts) ++start;
  shape.q_used = {25, 0};
  shape.k_used = {20, 11};
  EXPECT_RUNS_ON_MODEL(shape, kNaive, 1);
  shape.k_used = {0, 11};
  EXPECT_RUNS_ON_MODEL(shape, kNaive, 1);
  EXPECT_RUNS_ON_MODEL(packed({.head_dim = 16}, {3, 2}, {0, 0}, 2), kNaive, 1);
  Shape none = packed({.head_dim = 16}, {3, 2}, {0, 0});
  EXPECT_RUNS_ON_MODEL(none, kNaive, 1);
}

TEST(NaiveLengths, GoWithWindowsAndScores) {
  for (const Mask mask : kMasks) {
    Shape shape = packed({.q_heads = 4, .kv_heads = 2, .head_dim = 40, .dtype = DType::bf16, .mask = mask},
                         {90, 5, 133, 4}, {90, 170, 20, 0}, 3);
    shape.window = {13, 2};
    EXPECT_RUNS_ON_MODEL(shape, kNaive, 1);
    shape.softcap = 3;
    for (int i = 0; i < 16; ++i) shape.slopes.push_back(std::exp2(-static_cast<float>(i % 7)));
    for (int h = 0; h < 4; ++h) shape.sinks.push_back(static_cast<float>(h) - 1);
    EXPECT_RUNS_ON_MODEL(shape, kNaive, 1);
  }
}

TEST(NaiveLengths, RandomOnesAgreeWithTheOracle) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Dice dice(seed);
    Shape shape{.q_heads = 2, .kv_heads = 1, .head_dim = 24, .seed = seed};
    shape.dtype = dice.one_of(kDTypes);
    shape.mask = dice.one_of(kMasks);
    throw_lengths(dice, 500, 500, shape);
    shape.window = dice.window(200);
    EXPECT_RUNS_ON_MODEL(shape, kNaive, 1);
  }
}

// Bits of a sequence's rows of all heads, and of their LSE.
std::vector<std::byte> bits_of(const Problem& problem, const BatchRows& part) {
  const Tensor& out = problem.args.out;
  std::vector<std::byte> bits;
  const auto add = [&](const void* from, std::size_t bytes) {
    const auto* begin = static_cast<const std::byte*>(from);
    bits.insert(bits.end(), begin, begin + bytes);
  };
  for (int64_t h = 0; h < out.sizes[1]; ++h) {
    for (int64_t s = part.rows.begin; s < part.rows.end; ++s) {
      const int64_t at = part.batch * out.strides[0] + h * out.strides[1] + s * out.strides[2];
      add(static_cast<const std::byte*>(out.data) + at * element_bytes(out.dtype),
          static_cast<std::size_t>(out.sizes[3] * element_bytes(out.dtype)));
      add(problem.args.lse + (part.batch * out.sizes[1] + h) * out.sizes[2] + s, sizeof(float));
    }
  }
  return bits;
}

// K and V of all sequences but one are spoilt: its bits stay what they were.
void expect_alone(const Shape& shape, const dispatch::ForwardChoice& choice) {
  Problem clean(shape);
  run_on_model(clean, {.choice = choice});
  EXPECT_AGREES_WITH_ORACLE(clean, shape);
  const Sequences sequences(clean.args.lengths, clean.problem);
  for (int64_t kept = 0; kept < sequences.count(); ++kept) {
    for (const float poison : {kNaN, kInf}) {
      Problem spoilt(shape);
      for (int64_t i = 0; i < sequences.count(); ++i) {
        const BatchRows& rows = sequences[i].k;
        if (i == kept) continue;
        for (const Tensor& t : {spoilt.args.k, spoilt.args.v})
          for (int64_t h = 0; h < t.sizes[1]; ++h)
            for (int64_t s = rows.rows.begin; s < rows.rows.end; ++s)
              Problem::set_row(t, rows.batch, h, s, poison);
      }
      run_on_model(spoilt, {.choice = choice});
      EXPECT_EQ(bits_of(spoilt, sequences[kept].q), bits_of(clean, sequences[kept].q))
          << "sequence " << kept << " of " << describe(shape);
    }
  }
}

TEST(NaiveLengths, WhatNeighboursHoldReachesNobody) {
  for (const Mask mask : {Mask::none, Mask::causal}) {
    const Shape shape{.q_heads = 2, .kv_heads = 1, .head_dim = 32, .dtype = DType::bf16, .mask = mask};
    expect_alone(packed(shape, {4, 70, 33}, {4, 70, 50}), kNaive);
  }
}

// ---- ampere_forward ----

class AmpereLengths : public testing::TestWithParam<int> {
 protected:
  int32_t tile_q() const { return kernels::ampere_forward::general_form_for(GetParam()).tile_q; }
  int32_t tile_kv() const { return kernels::ampere_forward::general_form_for(GetParam()).tile_kv; }
  Shape shape(Mask mask, DType dtype = DType::bf16) const {
    return {.q_heads = 2, .kv_heads = 1, .head_dim = GetParam(), .dtype = dtype, .mask = mask};
  }
};
INSTANTIATE_TEST_SUITE_P(HeadDim, AmpereLengths, testing::ValuesIn(kernels::ampere_forward::kRunsHeadDims));

TEST_P(AmpereLengths, AgreeWithTheOracle) {
  for (const Mask mask : kMasks) {
    EXPECT_RUNS_ON_MODEL(packed(shape(mask), {tile_q(), 1, tile_q() + 1, 0, tile_q() - 1, 5},
                                {tile_kv(), 2 * tile_kv() + 1, 9, 30, tile_kv() - 1, 0}, 4),
                         kAmpere, 1);
  }
  Shape batch = shape(Mask::causal, DType::fp16);
  batch.q_rows = tile_q() + 20;
  batch.kv_rows = 2 * tile_kv() + 10;
  batch.layout = Layout::bshd;
  EXPECT_RUNS_ON_MODEL(padded(batch, {tile_q() + 20, 0, 13, 1}, {2 * tile_kv() + 10, 60, 0, 5}), kAmpere, 1);
  EXPECT_RUNS_ON_MODEL(packed_queries_and_padded_keys(shape(Mask::causal)), kAmpere, 1);
}

TEST_P(AmpereLengths, WhatNeighboursHoldReachesNobody) {
  expect_alone(packed(shape(Mask::none), {4, tile_q() + 3, 33}, {4, tile_kv() + 3, 50}), kAmpere);
  Shape used = packed(shape(Mask::causal), {40, 70}, {tile_kv() + 9, 90});
  used.k_used = {tile_kv() - 2, 61};
  expect_alone(used, kAmpere);
}

TEST(AmpereLengthsShapes, RandomOnesAgreeWithTheOracle) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    const Shape shape = random_shape(seed, 500);
    if (shape.kv_rows == 0) continue;
    EXPECT_RUNS_ON_MODEL(shape, kAmpere, 1);
  }
}

// ---- hopper_forward ----

namespace hopper = kernels::hopper_forward;

class HopperLengths : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!hopper::takes_lengths(hopper::kTunings[GetParam()])) GTEST_SKIP() << "has no form for lengths";
  }
  int64_t head_dim() const { return hopper::kTunings[GetParam()].head_dim; }
  int32_t tile_q() const { return hopper::kTunings[GetParam()].tile_q(); }
  int32_t tile_kv() const { return hopper::kTunings[GetParam()].tile_kv; }
  dispatch::ForwardChoice choice() const {
    return {.kernel = dispatch::ForwardKernel::hopper_forward, .tuning = GetParam()};
  }
  Shape shape(Mask mask, DType dtype = DType::bf16) const {
    return {.q_heads = 2, .kv_heads = 1, .head_dim = head_dim(), .dtype = dtype, .mask = mask};
  }
};
INSTANTIATE_TEST_SUITE_P(Tuning, HopperLengths, testing::Range(0, hopper::kNumTunings));

// Whole tiles and a row more or less, single rows, none, and other numbers of keys than of rows.
TEST_P(HopperLengths, PackedSequencesAgreeWithTheOracle) {
  for (const Mask mask : kMasks) {
    EXPECT_RUNS_ON_MODEL(packed(shape(mask), {tile_q(), 1, tile_q() + 1, 0, tile_q() - 1, 5},
                                {tile_kv(), 2 * tile_kv() + 1, 9, 30, tile_kv() - 1, 0}, 4),
                         choice(), 1);
  }
  EXPECT_RUNS_ON_MODEL(
      packed(shape(Mask::causal, DType::fp16), {3, 2 * tile_q() + 40}, {3, 2 * tile_q() + 40}), choice(), 2);
}

TEST_P(HopperLengths, PaddedBatchesAgreeWithTheOracle) {
  Shape batch = shape(Mask::causal, DType::fp16);
  batch.q_rows = tile_q() + 20;
  batch.kv_rows = 2 * tile_kv() + 10;
  batch.layout = Layout::bshd;
  EXPECT_RUNS_ON_MODEL(padded(batch, {tile_q() + 20, 0, 13, 1}, {2 * tile_kv() + 10, 80, 0, 5}), choice(), 1);
  EXPECT_RUNS_ON_MODEL(packed_queries_and_padded_keys(shape(Mask::causal)), choice(), 1);
}

TEST_P(HopperLengths, GoWithWindows) {
  Shape windowed = packed(shape(Mask::none), {tile_q() + 30, 90, 7}, {3 * tile_kv() + 5, 40, 250});
  windowed.window = {tile_kv() + 3, 20};
  EXPECT_RUNS_ON_MODEL(windowed, choice(), 1);
  windowed.mask = Mask::causal;
  windowed.window = {13, 0};
  EXPECT_RUNS_ON_MODEL(windowed, choice(), 1);
}

TEST_P(HopperLengths, WhatNeighboursHoldReachesNobody) {
  expect_alone(packed(shape(Mask::none), {4, tile_q() + 3, 33}, {4, tile_kv() + 3, 50}), choice());
  Shape used = packed(shape(Mask::causal), {40, 70}, {tile_kv() + 9, 90});
  used.k_used = {tile_kv() - 2, 61};
  expect_alone(used, choice());
}

// One block has all tiles, of sequences that begin and end with other blocks of keys.
TEST(HopperLengthsShapes, GoFromTileToTile) {
  for (const int64_t head_dim : {96, 128, 256}) {
    const Shape shape = packed(
        {.q_heads = 3, .kv_heads = 1, .head_dim = head_dim, .dtype = DType::bf16, .mask = Mask::causal},
        {300, 1, 0, 130, 64, 20}, {300, 200, 9, 70, 0, 220}, 5);
    for (const uint64_t seed : {0, 1}) {
      Problem problem(shape);
      const auto time = seed == 1 ? model::CopyTime::early : model::CopyTime::late;
      run_on_model(problem, {.choice = {.kernel = dispatch::ForwardKernel::hopper_forward},
                             .settings = {.seed = seed, .copies = time, .stores = time},
                             .sms = 1});
      EXPECT_AGREES_WITH_ORACLE(problem, shape);
    }
  }
}

// Whatever else is in the batch.
TEST(HopperLengthsShapes, ASequenceGivesTheBitsOfACallOfItsOwn) {
  for (const int64_t head_dim : {64, 128}) {
    const Shape shape{.q_heads = 2, .head_dim = head_dim, .dtype = DType::bf16, .mask = Mask::causal};
    Problem all(packed(shape, {150, 40, 300}, {150, 90, 200}));
    run_on_model(all);
    const Sequences sequences(all.args.lengths, all.problem);
    for (int64_t i = 0; i < sequences.count(); ++i) {
      const Sequence sequence = sequences[i];
      Problem alone(packed(shape, {static_cast<int32_t>(sequence.q.rows.size())},
                           {static_cast<int32_t>(sequence.k.rows.size())}));
      const auto copy = [&](const Tensor& to, const Tensor& from, const BatchRows& rows) {
        for (int64_t h = 0; h < to.sizes[1]; ++h)
          for (int64_t s = 0; s < rows.rows.size(); ++s)
            for (int64_t d = 0; d < to.sizes[3]; ++d)
              Problem::set(to, 0, h, s, d, Problem::get(from, 0, h, rows.rows.begin + s, d));
      };
      copy(alone.args.q, all.args.q, sequence.q);
      copy(alone.args.k, all.args.k, sequence.k);
      copy(alone.args.v, all.args.v, sequence.k);
      run_on_model(alone);
      EXPECT_EQ(bits_of(alone, {0, {0, sequence.q.rows.size()}}), bits_of(all, sequence.q)) << i;
    }
  }
}

TEST(HopperLengthsShapes, RandomOnesAgreeWithTheOracle) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    const Shape shape = random_shape(seed, 700);
    if (shape.kv_rows == 0) continue;
    EXPECT_RUNS_ON_MODEL(shape, {.kernel = dispatch::ForwardKernel::hopper_forward}, 1);
  }
}

// ---- Plans ----

TEST(LengthsPlan, HopperTakesThemWhereScoresDontChange) {
  const device::Spec spec = device::find("H200");
  Shape shape = packed({.q_heads = 2, .dtype = DType::bf16}, {300, 50}, {300, 60});
  for (const int64_t head_dim : {8, 64, 72, 96, 128, 192, 256}) {
    shape.head_dim = head_dim;
    const auto plan = dispatch::plan_forward(Problem(shape).problem, true, spec);
    EXPECT_EQ(plan.kernel, dispatch::ForwardKernel::hopper_forward) << head_dim;
    EXPECT_GE(plan.head_dim, head_dim);
  }
  EXPECT_EQ(dispatch::plan_forward(Problem(shape).problem, false, spec).kernel,
            dispatch::ForwardKernel::naive);
  EXPECT_EQ(dispatch::plan_forward(Problem(shape).problem, true, device::find("L4")).kernel,
            dispatch::ForwardKernel::ampere_forward);
  shape.softcap = 3;
  EXPECT_EQ(dispatch::plan_forward(Problem(shape).problem, true, spec).kernel,
            dispatch::ForwardKernel::ampere_forward);
}

TEST(LengthsPlan, SaysHowTheyAreComputed) {
  const Problem problem(packed({.q_heads = 2, .head_dim = 64, .dtype = DType::fp32}, {300, 50}, {300, 60}));
  const device::Spec spec = device::find("H200");
  const auto plan = dispatch::plan_forward(problem.problem, true, spec);
  EXPECT_EQ(plan.kernel, dispatch::ForwardKernel::naive);
  const std::string said = dispatch::explain(plan, problem.problem, spec);
  for (const char* part : {"2 sequences, q packed, k and v packed", "prepare_lengths", "blocks at most"})
    EXPECT_NE(said.find(part), std::string::npos) << part << " is not in\n" << said;
}

}  // namespace
}  // namespace flashmoe::test::lengths_test
