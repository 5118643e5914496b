// SPDX-License-Identifier: MIT
// Gradients of sequences of different lengths: zeros where nothing is seen, and none of them knows of the
// others.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

#include "api/refusal.h"
#include "problem/sequences.h"
#include "support/backward_call.h"
#include "support/sequences.h"

namespace flashmoe::test::backward_lengths_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class BackwardLengthsOfType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, BackwardLengthsOfType, testing::ValuesIn(kDTypes),
                         [](const auto& type) { return name_of(type.param); });

void expect_right(const Shape& shape, bool with_dlse = false) {
  const BackwardProblem problem(shape, with_dlse);
  run_backward(arguments_of(problem));
  EXPECT_EQ(problem.disagreement(), "") << describe(shape);
}

// Every value of some rows, all heads.
std::vector<float> values_of(const Tensor& t, const BatchRows& part) {
  std::vector<float> values;
  for (int64_t h = 0; h < t.sizes[1]; ++h)
    for (int64_t s = part.rows.begin; s < part.rows.end; ++s)
      for (int64_t d = 0; d < t.sizes[3]; ++d) values.push_back(Problem::get(t, part.batch, h, s, d));
  return values;
}

TEST_P(BackwardLengthsOfType, GradientsAgreeWithTheOracle) {
  for (const Mask mask : kMasks) {
    for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::padded, Layout::reversed}) {
      for (const int threads : {1, 4}) {
        const Shape shape{.q_heads = 4,
                          .kv_heads = 2,
                          .head_dim = 24,
                          .dtype = GetParam(),
                          .mask = mask,
                          .layout = layout,
                          .threads = threads};
        expect_right(packed(shape, {40, 1, 130, 3, 17}, {40, 90, 30, 3, 64}), threads == 1);
        Shape in_batch = shape;
        in_batch.q_rows = 50;
        in_batch.kv_rows = 70;
        in_batch.window = {9, 4};
        expect_right(padded(in_batch, {50, 0, 13, 1}, {70, 70, 0, 5}));
      }
    }
  }
}

TEST_P(BackwardLengthsOfType, ZeroLengthsOfQueriesOrKeysGiveZeros) {
  for (const int64_t dim : {1, 40, 64, 128, 256}) {
    const Shape shape{.q_heads = 2, .kv_heads = 1, .head_dim = dim, .dtype = GetParam(), .threads = 2};
    expect_right(packed(shape, {0, 40, 8, 0}, {10, 50, 84, 7}));
    expect_right(packed(shape, {10, 12, 3, 5}, {0, 12, 0, 0}));
    expect_right(packed(shape, {0, 0}, {0, 0}, 2));
    expect_right(packed(shape, {3, 2}, {0, 0}, 2));
    expect_right(packed(shape, {0, 0}, {3, 4}, 2));
  }
  const Shape grouped{.q_heads = 9, .kv_heads = 3, .dtype = GetParam(), .mask = Mask::causal, .threads = 2};
  expect_right(packed(grouped, {0, 1, 0, 1}, {0, 1, 0, 1}));
}

TEST_P(BackwardLengthsOfType, ASequenceGivesTheBitsOfACallOfItsOwn) {
  for (const int threads : {1, 2, 3, 16}) {
    const Shape shape = packed({.q_heads = 4,
                                .kv_heads = 2,
                                .head_dim = 32,
                                .dtype = GetParam(),
                                .mask = Mask::causal,
                                .threads = threads},
                               {300, 1, 0, 77, 5}, {300, 500, 9, 33, 700});
    const BackwardProblem problem(shape);
    const BackwardArgs args = arguments_of(problem);
    run_backward(args);
    const Sequences sequences(args.lengths, problem.forward.problem);
    for (int64_t i = 0; i < sequences.count(); ++i) {
      const Sequence sequence = sequences[i];
      if (sequence.is_empty()) continue;
      BackwardArgs alone = args;
      alone.lengths = {};
      for (Tensor* t : {&alone.q, &alone.out, &alone.dout, &alone.dq}) *t = part_of(*t, sequence.q);
      for (Tensor* t : {&alone.k, &alone.v, &alone.dk, &alone.dv}) *t = part_of(*t, sequence.k);
      std::vector<float> lse;
      for (int64_t h = 0; h < args.q.sizes[1]; ++h) {
        const float* head = args.lse + h * args.q.sizes[2];
        lse.insert(lse.end(), head + sequence.q.rows.begin, head + sequence.q.rows.end);
      }
      alone.lse = lse.data();
      std::array<std::vector<std::byte>, 3> memory;
      Tensor* gradients[] = {&alone.dq, &alone.dk, &alone.dv};
      for (std::size_t g = 0; g < 3; ++g) {
        Tensor& t = *gradients[g];
        memory[g].resize(
            static_cast<std::size_t>(t.sizes[1] * t.sizes[2] * t.sizes[3] * element_bytes(t.dtype)));
        t = Tensor::dense(memory[g].data(), t.dtype, t.sizes);
      }
      run_backward(alone);
      const auto whole = [](const Tensor& t) { return values_of(t, {0, {0, t.sizes[2]}}); };
      EXPECT_EQ(values_of(args.dq, sequence.q), whole(alone.dq)) << i << " of " << describe(shape);
      EXPECT_EQ(values_of(args.dk, sequence.k), whole(alone.dk)) << i << " of " << describe(shape);
      EXPECT_EQ(values_of(args.dv, sequence.k), whole(alone.dv)) << i << " of " << describe(shape);
    }
  }
}

// Also what a forward pass leaves there, and what a padded gradient may hold.
TEST_P(BackwardLengthsOfType, WhatRowsHoldThatDontCountReachesNobody) {
  for (const Mask mask : {Mask::none, Mask::causal}) {
    Shape shape = packed({.q_heads = 2, .head_dim = 32, .dtype = GetParam(), .mask = mask, .threads = 2},
                         {40, 20, 30}, {50, 24, 61}, 3);
    shape.q_used = {33, 0, 30};
    shape.k_used = {41, 24, 60};
    BackwardProblem problem(shape, true);
    const reference::BackwardResult expected = problem.oracle();
    const Sequences sequences(problem.forward.args.lengths, problem.forward.problem);
    const BackwardArgs args = arguments_of(problem);
    for (const float poison : {kNaN, kInf, -kInf}) {
      const auto spoil = [&](const Tensor& t, const BatchRows& gap) {
        for (int64_t h = 0; h < t.sizes[1]; ++h)
          for (int64_t s = gap.rows.begin; s < gap.rows.end; ++s)
            Problem::set_row(t, gap.batch, h, s, poison);
      };
      const auto spoil_q = [&](const BatchRows& gap) {
        for (const Tensor& t : {args.q, args.out, args.dout}) spoil(t, gap);
        for (int64_t h = 0; h < 2; ++h)
          for (int64_t s = gap.rows.begin; s < gap.rows.end; ++s)
            problem.forward.args.lse[h * args.q.sizes[2] + s] = poison;
      };
      for (int64_t i = 0; i < 3; ++i) {
        spoil_q(sequences[i].q_gap());
        for (const Tensor& t : {args.k, args.v}) spoil(t, sequences[i].k_gap());
      }
      spoil_q({0, sequences.q_behind()});
      for (const Tensor& t : {args.k, args.v}) spoil(t, {0, sequences.k_behind()});
      problem.poison_gradients();
      run_backward(args);
      EXPECT_EQ(problem.disagreement(expected), "") << poison << " in " << describe(shape);
    }
  }
}

TEST(BackwardLengths, AreRefusedByName) {
  const BackwardProblem problem(packed({.head_dim = 8}, {3, 4}, {5, 6}));
  BackwardArgs args = arguments_of(problem);
  const int32_t falling[] = {0, 5, 4};
  args.lengths.k_starts = falling;
  expect_says(refusal_of([&] { run_backward(args); }), ErrorCode::invalid_argument,
              {"attention_backward: lengths.k_starts[2] is 4, less than 5 before it"}, "k_starts");
}

TEST(BackwardLengths, ExplainSaysHowTheyAreCut) {
  const BackwardProblem problem(packed({.head_dim = 16, .threads = 2}, {50, 1, 0}, {50, 9, 8}));
  const std::string said = explain_backward(arguments_of(problem));
  for (const char* part :
       {"cpu: 3 sequences, each computed as in a call of its own",
        "0 to 50 rows, 51 in all; 8 to 50 keys, 67 in all", "none for 1 sequence without rows or keys"}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << " is not in\n" << said;
  }
}

}  // namespace
}  // namespace flashmoe::test::backward_lengths_test
