// SPDX-License-Identifier: MIT
// The general form of ampere_forward on the model of a GPU: scores that change, sinks, spans, lengths, and
// all of them together. lengths_test.cpp and spans_test.cpp have its part of what every kernel is asked
// there.
#include <gtest/gtest.h>

#include <limits>

#include "kernels/ampere_forward/launch.h"
#include "kernels/on_model.h"
#include "support/general.h"

namespace flashmoe::test::ampere_general_test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

dispatch::ForwardChoice in_splits(int splits) {
  return {.kernel = dispatch::ForwardKernel::ampere_forward, .num_splits = splits};
}
const dispatch::ForwardChoice kAmpere = in_splits(1);

Shape capped(Shape shape) {
  shape.softcap = 3;
  return shape;
}
Shape sloped(Shape shape) {
  shape.slopes = some_slopes(shape);
  return shape;
}
Shape sunk(Shape shape) {
  shape.sinks = some_sinks(shape);
  return shape;
}
Shape dropped(Shape shape) {
  shape.dropout = {.p = 0.3F, .seed = 0x123456789};
  return shape;
}
Shape scaled(Shape shape, float scale) {
  shape.scale = scale;
  return shape;
}

class AmpereGeneral : public testing::TestWithParam<int> {
 protected:
  int64_t head_dim() const { return GetParam(); }
  int64_t tile_q() const { return kernels::ampere_forward::general_form_for(GetParam()).tile_q; }
  int64_t tile_kv() const { return kernels::ampere_forward::general_form_for(GetParam()).tile_kv; }

  // Two batch entries, as many keys as rows.
  Shape causal(int64_t rows) const {
    return {.batch = 2,
            .q_heads = 2,
            .kv_heads = 1,
            .q_rows = rows,
            .kv_rows = rows,
            .head_dim = head_dim(),
            .dtype = DType::bf16,
            .mask = Mask::causal};
  }
  Shape with_documents(Shape shape) const {
    shape.documents = documents_of({3, 2 * tile_kv() + 9, 1, tile_kv() - 5}, shape.q_rows);
    return shape;
  }
};
INSTANTIATE_TEST_SUITE_P(HeadDim, AmpereGeneral, testing::ValuesIn(kernels::ampere_forward::kRunsHeadDims));

TEST_P(AmpereGeneral, TakesEveryChangeOfScoresUnderEveryMask) {
  for (const Mask mask : kMasks) {
    const Shape plain{.batch = 2,
                      .q_heads = 2,
                      .kv_heads = 1,
                      .q_rows = tile_q() + 30,
                      .kv_rows = 3 * tile_kv() + 11,
                      .head_dim = head_dim(),
                      .dtype = mask == Mask::causal ? DType::fp16 : DType::bf16,
                      .mask = mask};
    for (const Shape& shape : {capped(plain), sloped(plain), sunk(plain), scaled(plain, -0.2F),
                               sunk(sloped(capped(scaled(plain, -0.2F)))), sloped(scaled(plain, -0.2F))})
      EXPECT_RUNS_ON_MODEL(shape, kAmpere, 1);
  }
}

// Heads of one position stand side by side in a tile: each has a slope and a sink of its own. Rows past the
// last key of the window see nothing but the sink.
TEST_P(AmpereGeneral, ChangesScoresInPacksWindowsAndSplits) {
  for (const int splits : {1, 3}) {
    const Shape plain{.batch = 2,
                      .q_heads = 8,
                      .kv_heads = 2,
                      .q_rows = 13,
                      .kv_rows = 330,
                      .head_dim = head_dim() - 8,
                      .dtype = DType::bf16,
                      .mask = Mask::causal,
                      .window = {200, Window::kUnlimited}};
    const Shape shape = sunk(sloped(capped(plain)));
    Problem problem(shape);
    EXPECT_EQ(run_on_model(problem, {.choice = in_splits(splits)}).pack, 4);
    EXPECT_AGREES_WITH_ORACLE(problem, shape);
  }
  EXPECT_RUNS_ON_MODEL(sunk(sloped({.q_heads = 8,
                                    .kv_heads = 2,
                                    .q_rows = 33,
                                    .kv_rows = 20,
                                    .head_dim = head_dim(),
                                    .dtype = DType::fp16,
                                    .window = {9, 2}})),
                       kAmpere, 1);
}

// More splits than tiles of keys: a sink counts once all the same.
TEST_P(AmpereGeneral, CountsASinkOnceHoweverManyBlocksShareTheKeys) {
  const Shape shape = sunk({.q_heads = 2,
                            .kv_heads = 1,
                            .q_rows = 9,
                            .kv_rows = 3 * tile_kv(),
                            .head_dim = head_dim(),
                            .dtype = DType::bf16,
                            .mask = Mask::causal});
  for (const int splits : {2, 7}) EXPECT_RUNS_ON_MODEL(shape, in_splits(splits), 1);
}

TEST_P(AmpereGeneral, RowsThatSeeNothingAreZeroOrTheirSink) {
  const Shape plain{.q_heads = 2,
                    .kv_heads = 1,
                    .q_rows = 2 * tile_q() + 40,
                    .kv_rows = 40,
                    .head_dim = head_dim(),
                    .dtype = DType::fp16,
                    .mask = Mask::causal};
  EXPECT_RUNS_ON_MODEL(sunk(plain), kAmpere, 2);
  EXPECT_RUNS_ON_MODEL(capped(plain), kAmpere, 2);
}

TEST_P(AmpereGeneral, TakesEveryNamedMask) {
  const int64_t rows = tile_q() + 3 * tile_kv() + 21;
  const Shape plain = causal(rows);
  Shape documents = with_documents(plain);
  EXPECT_RUNS_ON_MODEL(documents, kAmpere, 1);
  documents.mask = Mask::none;
  EXPECT_RUNS_ON_MODEL(sunk(sloped(documents)), kAmpere, 1);
  Shape prefix = plain;
  prefix.prefix = {static_cast<int32_t>(tile_kv() + 11), 0};
  EXPECT_RUNS_ON_MODEL(prefix, kAmpere, 2);
  Shape padding = plain;
  padding.left_padding = {static_cast<int32_t>(tile_q() + 5), 70};
  EXPECT_RUNS_ON_MODEL(padding, kAmpere, 1);
  EXPECT_RUNS_ON_MODEL(sunk(capped(padding)), kAmpere, 1);
  Shape chunks = plain;
  chunks.chunk = tile_kv() + 3;
  EXPECT_RUNS_ON_MODEL(chunks, in_splits(2), 1);
}

// The keys between the first ones and a row's window are many tiles that nobody sees.
TEST_P(AmpereGeneral, TakesFirstKeysBesideAWindow) {
  for (const int64_t first_keys : {int64_t{4}, tile_kv() + 1, int64_t{300}}) {
    for (const int splits : {1, 3}) {
      Shape shape{.q_heads = 4,
                  .kv_heads = 2,
                  .q_rows = 40,
                  .kv_rows = 8 * tile_kv() + 30,
                  .head_dim = head_dim(),
                  .dtype = DType::bf16,
                  .mask = Mask::causal,
                  .window = {tile_kv() + 5, 0},
                  .first_keys = first_keys};
      EXPECT_RUNS_ON_MODEL(shape, in_splits(splits), 1);
      shape.documents = documents_of({2 * tile_kv() + 3, 90}, shape.kv_rows);
      EXPECT_RUNS_ON_MODEL(shape, in_splits(splits), 1);
    }
  }
}

// K and V of keys that a tile's rows do not see are not read, whole tiles of them: what lies there reaches
// nobody.
TEST_P(AmpereGeneral, SkipsWhatNoRowOfATileSees) {
  const int64_t keys = 8 * tile_kv();
  Shape shape{.q_rows = 20,
              .kv_rows = keys,
              .head_dim = head_dim(),
              .dtype = DType::bf16,
              .mask = Mask::causal,
              .window = {tile_kv() - 20, 0},
              .first_keys = 4};
  const auto spoil = [&](int64_t begin, int64_t end) {
    Problem problem(shape);
    for (const Tensor& t : {problem.args.k, problem.args.v})
      for (int64_t s = begin; s < end; ++s) Problem::set_row(t, 0, 0, s, kNaN);
    run_on_model(problem, {.choice = kAmpere});
    return problem.output_bytes();
  };
  const auto clean = spoil(0, 0);
  EXPECT_EQ(spoil(tile_kv(), keys - 2 * tile_kv()), clean);
  shape.first_keys = 0;
  shape.documents = documents_of({3 * tile_kv(), keys - 3 * tile_kv()}, keys);
  const auto documents = spoil(0, 0);
  EXPECT_EQ(spoil(0, keys - 2 * tile_kv()), documents);
}

TEST_P(AmpereGeneral, TakesAllOfItAtOnceWithLengths) {
  for (const Mask mask : kMasks) {
    Shape shape =
        packed({.q_heads = 4, .kv_heads = 2, .head_dim = head_dim(), .dtype = DType::bf16, .mask = mask},
               {90, 5, 133, 4}, {90, 170, 20, 0}, 3);
    shape.window = {50, 2};
    EXPECT_RUNS_ON_MODEL(sunk(sloped(capped(shape))), kAmpere, 1);
    EXPECT_RUNS_ON_MODEL(sunk(scaled(shape, -0.1F)), kAmpere, 1);
  }
}

// A step of decoding against caches that are filled unequally: the heads of a group share their tile.
TEST_P(AmpereGeneral, PacksGroupsOfShortSequences) {
  const Shape plain{.q_heads = 8,
                    .kv_heads = 2,
                    .q_rows = 3,
                    .kv_rows = 3 * tile_kv() + 5,
                    .head_dim = head_dim(),
                    .dtype = DType::bf16,
                    .mask = Mask::causal};
  const Shape shape = sunk(padded(
      plain, {3, 1, 0, 2}, {static_cast<int32_t>(plain.kv_rows), 2, 50, static_cast<int32_t>(tile_kv())}));
  Problem problem(shape);
  EXPECT_EQ(run_on_model(problem, {.choice = kAmpere}).pack, 4);
  EXPECT_AGREES_WITH_ORACLE(problem, shape);
  EXPECT_RUNS_ON_MODEL(packed(plain, {3, 20, 0, 2, 1}, {40, 90, 7, 0, 300}, 4), kAmpere, 2);
}

// Heads of one position stand side by side in a tile; splits share a row's keys; and a row's sum has what is
// left out.
TEST_P(AmpereGeneral, LeavesOutThePairsOfTheSeed) {
  for (const Mask mask : kMasks) {
    const Shape plain{.batch = 2,
                      .q_heads = 4,
                      .kv_heads = 2,
                      .q_rows = tile_q() + 30,
                      .kv_rows = 3 * tile_kv() + 11,
                      .head_dim = head_dim(),
                      .dtype = mask == Mask::causal ? DType::fp16 : DType::bf16,
                      .mask = mask};
    for (const Shape& shape : {plain, sunk(sloped(capped(plain)))})
      EXPECT_RUNS_ON_MODEL(dropped(shape), kAmpere, 1);
    Shape few = plain;
    few.q_rows = 7;
    EXPECT_RUNS_ON_MODEL(dropped(few), in_splits(3), 1);
  }
}

TEST_P(AmpereGeneral, LeavesOutPairsUnderEveryKindOfMask) {
  const int64_t rows = tile_q() + 2 * tile_kv() + 21;
  const Shape plain = causal(rows);
  EXPECT_RUNS_ON_MODEL(dropped(with_documents(plain)), kAmpere, 1);
  Shape padding = plain;
  padding.left_padding = {static_cast<int32_t>(tile_q() + 5), 70};
  EXPECT_RUNS_ON_MODEL(dropped(padding), kAmpere, 1);
  Shape first_keys = plain;
  first_keys.window = {tile_kv() + 5, 0};
  first_keys.first_keys = 4;
  EXPECT_RUNS_ON_MODEL(dropped(first_keys), kAmpere, 1);
  const Shape short_rows{.q_heads = 8,
                         .kv_heads = 2,
                         .q_rows = 3,
                         .kv_rows = 3 * tile_kv() + 5,
                         .head_dim = head_dim(),
                         .dtype = DType::fp16,
                         .mask = Mask::causal};
  const Shape caches =
      padded(short_rows, {3, 1, 0, 2},
             {static_cast<int32_t>(short_rows.kv_rows), 2, 50, static_cast<int32_t>(tile_kv())});
  EXPECT_RUNS_ON_MODEL(dropped(caches), kAmpere, 1);
  EXPECT_RUNS_ON_MODEL(dropped(packed(plain, {90, 5, 133, 4}, {90, 170, 20, 0}, 3)), kAmpere, 1);
}

TEST(AmpereGeneralShapes, LeaveOutAnyShareAndTheSeedDecidesWhich) {
  Shape shape{.q_heads = 2, .kv_heads = 1, .q_rows = 140, .kv_rows = 200, .dtype = DType::fp16};
  std::vector<std::byte> last;
  for (const uint64_t seed : {uint64_t{7}, uint64_t{8}, uint64_t{1} << 40 | 7}) {
    shape.dropout = {.p = 0.5F, .seed = seed};
    EXPECT_RUNS_ON_MODEL(shape, kAmpere, 1);
    Problem problem(shape);
    run_on_model(problem, {.choice = kAmpere});
    EXPECT_NE(problem.output_bytes(), last);
    last = problem.output_bytes();
  }
  // What few are kept count for all: a weight times that would be more than fp16 holds.
  for (const float p : {1e-5F, 0.01F, 0.999F, 1.0F}) {
    shape.dropout = {.p = p, .seed = 1};
    EXPECT_RUNS_ON_MODEL(shape, kAmpere, 1);
  }
  Problem problem(shape);
  run_on_model(problem, {.choice = kAmpere});
  for (int64_t row = 0; row < shape.q_rows; ++row) EXPECT_EQ(problem.out(0, 1, row, 3), 0.0F);
}

TEST(AmpereGeneralShapes, RandomOnesWithDropoutAgreeWithTheOracle) {
  const uint64_t count = number_from("FLASHMOE_SWEEP", 60);
  for (uint64_t seed = 1001; seed <= 1000 + count; ++seed) {
    Shape shape = random_general_shape(seed, 300);
    if (shape.q_rows == 0 || shape.kv_rows == 0) continue;
    shape.dropout = {.p = seed % 2 == 0 ? 0.1F : 0.6F, .seed = seed << 30};
    const bool lengths = Problem(shape).problem.lengths.given;
    EXPECT_RUNS_ON_MODEL(shape, in_splits(lengths ? 1 : 1 + static_cast<int>(seed % 3)), 1);
  }
}

TEST(AmpereGeneralShapes, TakeAnyScaleAndCap) {
  const Shape plain{.q_rows = 70, .kv_rows = 150, .dtype = DType::bf16, .mask = Mask::causal};
  for (const float scale : {0.0F, -3.0F, 1e-40F, -1e-40F})
    EXPECT_RUNS_ON_MODEL(scaled(plain, scale), kAmpere, 1);
  for (const float cap : {0.5F, 50.0F, 1e4F}) {
    for (const float spread : {1.0F, 20.0F}) {
      Shape shape = plain;
      shape.softcap = cap;
      shape.spread = spread;
      EXPECT_RUNS_ON_MODEL(shape, kAmpere, 1);
    }
  }
}

TEST(AmpereGeneralShapes, TakeHugeLogits) {
  const Shape plain{.q_heads = 2, .q_rows = 70, .kv_rows = 200, .dtype = DType::bf16, .spread = 40};
  for (const Shape& shape : {sunk(plain), sloped(plain), scaled(plain, -1)})
    EXPECT_RUNS_ON_MODEL(shape, kAmpere, 1);
}

TEST(AmpereGeneralShapes, AreTheSameBitForBitUnderEverySchedule) {
  Shape shape = sunk(sloped(capped({.q_rows = 130, .kv_rows = 200, .dtype = DType::bf16})));
  shape.chunk = 90;
  Problem first(shape);
  run_on_model(first, {.choice = kAmpere});
  for (const uint64_t seed : {1, 2, 3}) {
    Problem again(shape);
    run_on_model(again, {.choice = kAmpere, .settings = {.seed = seed}});
    EXPECT_EQ(again.output_bytes(), first.output_bytes());
  }
}

TEST(AmpereGeneralShapes, RandomOnesAgreeWithTheOracle) {
  const uint64_t count = number_from("FLASHMOE_SWEEP", 90);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    const Shape shape = random_general_shape(seed, 400);
    if (shape.q_rows == 0 || shape.kv_rows == 0) continue;
    const bool lengths = Problem(shape).problem.lengths.given;
    EXPECT_RUNS_ON_MODEL(shape, in_splits(lengths ? 1 : 1 + static_cast<int>(seed % 3)), 1);
  }
}

}  // namespace
}  // namespace flashmoe::test::ampere_general_test
