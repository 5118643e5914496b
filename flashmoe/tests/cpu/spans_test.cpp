// SPDX-License-Identifier: MIT
// Masks by name: which keys a row sees, and that every kernel agrees with the oracle on it.
//   FLASHMOE_SWEEP=100   so many seeds per dtype instead of 120
//   FLASHMOE_SEED=1234   that seed alone
#include "support/spans.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>

#include "api/refusal.h"
#include "support/backward_call.h"
#include "support/sequences.h"

namespace flashmoe::test::spans_test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The keys with weight in a row's output: V has a one for each key in a column of its own.
std::set<int64_t> seen_by(const Shape& shape, int64_t row, int64_t batch = 0) {
  Problem problem(shape);
  for (int64_t b = 0; b < shape.batch; ++b)
    for (int64_t key = 0; key < shape.kv_rows; ++key)
      for (int64_t d = 0; d < shape.head_dim; ++d)
        Problem::set(problem.args.v, b, 0, key, d, d == key ? 1.0F : 0.0F);
  problem.run();
  std::set<int64_t> seen;
  for (int64_t key = 0; key < shape.kv_rows; ++key)
    if (problem.out(batch, 0, row, key) != 0) seen.insert(key);
  return seen;
}

std::set<int64_t> keys(int64_t first, int64_t last) {
  std::set<int64_t> all;
  for (int64_t key = first; key <= last; ++key) all.insert(key);
  return all;
}

std::set<int64_t> operator+(std::set<int64_t> a, const std::set<int64_t>& b) {
  a.insert(b.begin(), b.end());
  return a;
}

class SpansOfType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, SpansOfType, testing::ValuesIn(kDTypes),
                         [](const auto& type) { return name_of(type.param); });

TEST_P(SpansOfType, ARowSeesItsOwnDocument) {
  Shape shape{.q_rows = 40, .kv_rows = 40, .head_dim = 40, .dtype = GetParam()};
  shape.documents = documents_of({7, 20}, 40);
  EXPECT_EQ(seen_by(shape, 0), keys(0, 6));
  EXPECT_EQ(seen_by(shape, 7), keys(7, 26));
  EXPECT_EQ(seen_by(shape, 39), keys(27, 39));
  shape.mask = Mask::causal;
  EXPECT_EQ(seen_by(shape, 7), keys(7, 7));
  EXPECT_EQ(seen_by(shape, 20), keys(7, 20));
}

TEST_P(SpansOfType, ADocumentsNumberThatComesBackIsAnotherDocument) {
  Shape shape{.q_rows = 12, .kv_rows = 12, .head_dim = 16, .dtype = GetParam()};
  shape.documents = {5, 5, 5, 5, -1, -1, -1, -1, 5, 5, 5, 5};
  EXPECT_EQ(seen_by(shape, 1), keys(0, 3));
  EXPECT_EQ(seen_by(shape, 9), keys(8, 11));
}

TEST_P(SpansOfType, TheLastRowIsInTheLastKeysDocument) {
  Shape shape{.q_rows = 4, .kv_rows = 40, .head_dim = 40, .dtype = GetParam(), .mask = Mask::causal};
  shape.documents = documents_of({10, 27}, 40);
  EXPECT_EQ(seen_by(shape, 0), keys(10, 36));
  EXPECT_EQ(seen_by(shape, 3), keys(37, 39));
}

TEST_P(SpansOfType, RowsWithoutAKeyAtTheirPositionSeeNoDocument) {
  Shape shape{.q_rows = 20, .kv_rows = 12, .head_dim = 16, .dtype = GetParam()};
  shape.documents = documents_of({6}, 12);
  EXPECT_EQ(seen_by(shape, 7), std::set<int64_t>{});
  EXPECT_EQ(seen_by(shape, 8), keys(0, 5));
  EXPECT_EQ(seen_by(shape, 19), keys(6, 11));
}

TEST_P(SpansOfType, APrefixIsSeenByTheRowsBeforeItsEnd) {
  Shape shape{
      .batch = 2, .q_rows = 40, .kv_rows = 40, .head_dim = 40, .dtype = GetParam(), .mask = Mask::causal};
  shape.prefix = {9, 0};
  EXPECT_EQ(seen_by(shape, 0), keys(0, 8));
  EXPECT_EQ(seen_by(shape, 8), keys(0, 8));
  EXPECT_EQ(seen_by(shape, 20), keys(0, 20));
  EXPECT_EQ(seen_by(shape, 8, 1), keys(0, 8));
  EXPECT_EQ(seen_by(shape, 0, 1), keys(0, 0));
}

// Positions count from the first key under this mask, and the prefix is longer than what any row sees.
TEST_P(SpansOfType, APrefixMayEndBehindAllThatTheMaskShows) {
  Shape shape{.q_rows = 12,
              .kv_rows = 40,
              .head_dim = 40,
              .dtype = GetParam(),
              .mask = Mask::causal_top_left,
              .window = {9, 3}};
  shape.prefix = {30};
  EXPECT_EQ(seen_by(shape, 0), keys(0, 29));
  EXPECT_EQ(seen_by(shape, 11), keys(2, 29));
}

TEST_P(SpansOfType, PaddingOnTheLeftIsSeenByNobody) {
  Shape shape{
      .batch = 2, .q_rows = 40, .kv_rows = 40, .head_dim = 40, .dtype = GetParam(), .mask = Mask::causal};
  shape.left_padding = {0, 7};
  EXPECT_EQ(seen_by(shape, 9), keys(0, 9));
  EXPECT_EQ(seen_by(shape, 9, 1), keys(7, 9));
  Problem problem(shape);
  for (int64_t key = 0; key < 7; ++key) {
    Problem::set_row(problem.args.k, 1, 0, key, kNaN);
    Problem::set_row(problem.args.v, 1, 0, key, kNaN);
  }
  problem.run();
  EXPECT_AGREES_WITH_ORACLE(problem, shape);
  for (int64_t row = 0; row < 7; ++row) {
    EXPECT_EQ(problem.out(1, 0, row, 3), 0.0F);
    EXPECT_EQ(problem.lse(1, 0, row), -std::numeric_limits<float>::infinity());
  }
}

TEST_P(SpansOfType, ChunksAreOfPositions) {
  Shape shape{
      .q_rows = 40, .kv_rows = 40, .head_dim = 40, .dtype = GetParam(), .mask = Mask::causal, .chunk = 16};
  EXPECT_EQ(seen_by(shape, 15), keys(0, 15));
  EXPECT_EQ(seen_by(shape, 16), keys(16, 16));
  EXPECT_EQ(seen_by(shape, 39), keys(32, 39));
  shape.mask = Mask::none;
  EXPECT_EQ(seen_by(shape, 16), keys(16, 31));
  EXPECT_EQ(seen_by(shape, 32), keys(32, 39));
}

// One query in the middle of a chunk, and at its last position.
TEST_P(SpansOfType, ADecodeStepSeesItsChunk) {
  Shape shape{
      .q_rows = 1, .kv_rows = 5, .head_dim = 16, .dtype = GetParam(), .mask = Mask::causal, .chunk = 4};
  EXPECT_EQ(seen_by(shape, 0), keys(4, 4));
  shape.kv_rows = 4;
  EXPECT_EQ(seen_by(shape, 0), keys(0, 3));
}

TEST_P(SpansOfType, FirstKeysAreSeenBesideAWindow) {
  Shape shape{.q_rows = 40,
              .kv_rows = 40,
              .head_dim = 40,
              .dtype = GetParam(),
              .mask = Mask::causal,
              .window = {5, 0},
              .first_keys = 4};
  EXPECT_EQ(seen_by(shape, 2), keys(0, 2));
  EXPECT_EQ(seen_by(shape, 9), keys(0, 9));
  EXPECT_EQ(seen_by(shape, 30), keys(0, 3) + keys(25, 30));
  shape.left_padding = {10};
  EXPECT_EQ(seen_by(shape, 30), keys(10, 13) + keys(25, 30));
  shape.window = {};
  shape.left_padding = {};
  shape.chunk = 16;
  EXPECT_EQ(seen_by(shape, 17), keys(0, 3) + keys(16, 17));
}

TEST_P(SpansOfType, SpansMeetInWhatAllOfThemShow) {
  Shape shape{.q_rows = 40,
              .kv_rows = 40,
              .head_dim = 40,
              .dtype = GetParam(),
              .mask = Mask::causal,
              .window = {9, 0}};
  shape.documents = documents_of({20}, 40);
  shape.prefix = {25};
  EXPECT_EQ(seen_by(shape, 3), keys(0, 19)) << "the prefix, as far as its document goes";
  EXPECT_EQ(seen_by(shape, 21), keys(20, 24)) << "its document, as far as the prefix goes";
  EXPECT_EQ(seen_by(shape, 35), keys(26, 35));
}

TEST_P(SpansOfType, ADocumentAloneIsTheDocumentAmongOthers) {
  constexpr int64_t kBegin = 70, kLength = 130;
  Shape shape{
      .q_heads = 4, .kv_heads = 2, .q_rows = 300, .kv_rows = 300, .dtype = GetParam(), .mask = Mask::causal};
  shape.documents = documents_of({kBegin, kLength}, 300);
  Problem all(shape);
  for (int64_t key = 0; key < 300; ++key) {
    if (key >= kBegin && key < kBegin + kLength) continue;
    for (int64_t h = 0; h < 2; ++h) {
      Problem::set_row(all.args.k, 0, h, key, kNaN);
      Problem::set_row(all.args.v, 0, h, key, kNaN);
    }
  }
  all.run();
  Problem one({.q_heads = 4,
               .kv_heads = 2,
               .q_rows = kLength,
               .kv_rows = kLength,
               .dtype = GetParam(),
               .mask = Mask::causal});
  for (int64_t h = 0; h < 4; ++h) {
    for (int64_t s = 0; s < kLength; ++s) {
      for (int64_t d = 0; d < 64; ++d) {
        Problem::set(one.args.q, 0, h, s, d, Problem::get(all.args.q, 0, h, kBegin + s, d));
        if (h >= 2) continue;
        Problem::set(one.args.k, 0, h, s, d, Problem::get(all.args.k, 0, h, kBegin + s, d));
        Problem::set(one.args.v, 0, h, s, d, Problem::get(all.args.v, 0, h, kBegin + s, d));
      }
    }
  }
  const reference::ForwardResult expected = one.oracle();
  for (int64_t h = 0; h < 4; ++h)
    for (int64_t s = 0; s < kLength; ++s)
      for (int64_t d = 0; d < 64; ++d) Problem::set(one.args.out, 0, h, s, d, all.out(0, h, kBegin + s, d));
  one.args.lse = nullptr;
  EXPECT_EQ(one.disagreement(expected), "");
}

TEST_P(SpansOfType, OneDocumentIsNoMask) {
  const Shape plain{
      .q_heads = 2, .q_rows = 150, .kv_rows = 150, .dtype = GetParam(), .mask = Mask::causal, .threads = 2};
  Problem expected(plain);
  expected.run();
  Shape shape = plain;
  shape.documents = documents_of({}, 150);
  Problem problem(shape);
  problem.run();
  EXPECT_EQ(problem.output_bytes(), expected.output_bytes());
}

TEST_P(SpansOfType, SequencesOfOtherLengthsHaveSpansOfTheirOwn) {
  Shape shape =
      packed({.q_heads = 2, .dtype = GetParam(), .mask = Mask::causal}, {30, 0, 50}, {40, 9, 50}, 3);
  shape.documents = documents_of({25, 50}, shape.kv_rows);
  shape.prefix = {12, 3, 0};
  shape.left_padding = {0, 0, 7};
  Problem problem(shape);
  problem.run();
  EXPECT_AGREES_WITH_ORACLE(problem, shape);
  const BackwardProblem backward(shape);
  run_backward(arguments_of(backward));
  EXPECT_EQ(backward.disagreement(), "") << describe(shape);
}

Shape shape_of(uint64_t seed, DType dtype) {
  Dice dice(seed);
  Shape shape{.dtype = dtype, .seed = seed};
  shape.mask = dice.one_of(kMasks);
  shape.layout = dice.one_of(kLayouts);
  shape.spread = dice.one_of({1.0F, 1.0F, 0.1F, 4.0F, 30.0F});
  shape.threads = static_cast<int>(dice.one_of({1, 2, 3, 8, 64}));
  if (dice.between(0, 3) == 0) shape.scale = dice.one_of({1.0F, -0.3F, 0.01F, 0.0F});
  shape.head_dim = dice.one_of({0, 32, 64, 64, 80, 128});
  if (shape.head_dim == 0) shape.head_dim = dice.between(1, 256);
  shape.batch = dice.one_of({1, 1, 2, 3});
  shape.kv_heads = dice.one_of({1, 1, 2});
  shape.q_heads = shape.kv_heads * dice.one_of({1, 1, 2, 5});
  const bool decode = dice.between(0, 3) == 0;
  shape.kv_rows = dice.length(decode ? 3000 : 600);
  shape.q_rows = decode ? dice.between(1, 4) : dice.between(0, 1) == 0 ? shape.kv_rows : dice.length(600);
  while (shape.batch * shape.q_heads * shape.q_rows * shape.kv_rows * shape.head_dim > 3'000'000)
    (shape.q_rows > shape.kv_rows ? shape.q_rows : shape.kv_rows) /= 2;
  shape.window = dice.window(shape.kv_rows);
  throw_spans(dice, shape);
  shape.hidden = dice.hidden();
  if (dice.between(0, 2) == 0) shape.softcap = dice.one_of({5.0F, 50.0F});
  return shape;
}

TEST_P(SpansOfType, RandomSpansAgreeWithTheOracle) {
  const bool one_seed = std::getenv("FLASHMOE_SEED") != nullptr;
  const uint64_t first = number_from("FLASHMOE_SEED", 1);
  const uint64_t count = one_seed ? 1 : number_from("FLASHMOE_SWEEP", 120);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Shape shape = shape_of(seed, GetParam());
    Problem forward(shape);
    forward.run();
    EXPECT_AGREES_WITH_ORACLE(forward, shape) << "\nto run it alone: FLASHMOE_SEED=" << seed;
    const BackwardProblem backward(shape, seed % 2 == 0);
    run_backward(arguments_of(backward));
    EXPECT_EQ(backward.disagreement(), "") << describe(shape) << "\nto run it alone: FLASHMOE_SEED=" << seed;
  }
}

TEST(SpansChecks, NumbersAreNotNegative) {
  Problem problem({.q_rows = 4, .kv_rows = 4});
  problem.args.spans = {.chunk = -1};
  expect_says(refusal_of([&] { problem.run(); }), ErrorCode::invalid_argument, {"spans.chunk is -1"},
              "chunk");
  problem.args.spans = {.first_keys = -2};
  expect_says(refusal_of([&] { problem.run(); }), ErrorCode::invalid_argument, {"spans.first_keys is -2"},
              "first keys");
}

TEST(SpansChecks, ResultsShareNoMemoryWithTheArrays) {
  Problem problem({.q_rows = 4, .kv_rows = 4});
  problem.args.spans.prefix = reinterpret_cast<const int32_t*>(problem.args.out.data);
  expect_says(refusal_of([&] { problem.run(); }), ErrorCode::invalid_argument, {"out overlaps spans.prefix"},
              "prefix");
}

}  // namespace
}  // namespace flashmoe::test::spans_test
