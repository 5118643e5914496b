// SPDX-License-Identifier: MIT
// Masks by name on the model of a GPU: the table of what rows see, and the kernels that read it.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/hopper_forward/spec.h"
#include "kernels/on_model.h"
#include "kernels/prepare_runs/launch.h"
#include "kernels/row_table_on_model.h"
#include "support/spans.h"

namespace flashmoe::test::spans_test {
namespace {

namespace hopper = kernels::hopper_forward;

constexpr dispatch::ForwardChoice kNaive{.kernel = dispatch::ForwardKernel::naive};
constexpr dispatch::ForwardChoice kHopper{.kernel = dispatch::ForwardKernel::hopper_forward};

// Tiles of keys know the rows that see any of theirs, and those that see all.
void expect_key_tiles(const Shape& shape, const kernels::TileRows* tiles, int64_t keys,
                      const kernels::Run* of_rows, int64_t rows) {
  for (int64_t tile = 0; tile * 64 < keys; ++tile) {
    const kernels::TileRows seen = tiles[tile];
    for (int64_t i = 0; i < rows; ++i) {
      const kernels::Run row = of_rows[i];
      const bool any = row.begin < tile * 64 + 64 && row.end > tile * 64 && row.begin < row.end;
      const bool all = row.begin <= tile * 64 && row.end >= tile * 64 + 64;
      if (any) {
        ASSERT_TRUE(i >= seen.begin && i < seen.end) << describe(shape) << ", row " << i;
      }
      ASSERT_EQ(all, i >= seen.full_begin && i < seen.full_end) << describe(shape) << ", row " << i;
    }
  }
}

// What prepare_runs writes for a shape is what the host finds, row by row; and tiles and keys follow from
// that.
void expect_table(const Shape& shape) {
  const Problem problem(shape);
  const ForwardProblem& p = problem.problem;
  const Spans& spans = problem.args.spans;
  const TableMemory memory(p);
  const auto params = dispatch::row_table_params(p, spans, true, memory.workspace());
  allow_spans(problem.args);
  kernels::prepare_runs::launch(params, nullptr);

  std::vector<RowRun> rows(static_cast<std::size_t>(p.batch * p.q_rows)), first_keys(rows.size());
  Sequences({}, p, spans).with_rows(rows.data(), first_keys.data());
  for (int64_t b = 0; b < p.batch; ++b) {
    const int64_t entry = p.spans.per_entry ? b : 0;
    const kernels::Run* found = params.rows + entry * params.padded_rows;
    expect_rows(shape, found, rows.data() + b * p.q_rows, p.q_rows);
    for (int64_t i = 1; i < p.q_rows; ++i) {
      ASSERT_GE(found[i].begin, found[i - 1].begin) << describe(shape) << ", row " << i;
      ASSERT_GE(found[i].end, found[i - 1].end) << describe(shape) << ", row " << i;
    }
    if (params.first_keys != nullptr) {
      expect_rows(shape, params.first_keys + entry * params.padded_rows, first_keys.data() + b * p.q_rows,
                  p.q_rows);
    }
    expect_keys(shape, params.keys + entry * params.padded_keys, p.kv_rows, found, p.q_rows);
    expect_key_tiles(shape, params.key_tiles + entry * (params.padded_keys / 64), p.kv_rows, found, p.q_rows);
  }
}

TEST(RowTable, IsWhatTheHostFinds) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Dice dice(seed);
    Shape shape{.head_dim = 8, .dtype = DType::bf16, .seed = seed};
    shape.mask = dice.one_of(kMasks);
    shape.batch = dice.one_of({1, 2, 3});
    shape.kv_rows = dice.length(200);
    shape.q_rows = dice.between(0, 1) == 0 ? shape.kv_rows : dice.length(200);
    shape.window = dice.window(shape.kv_rows);
    throw_spans(dice, shape);
    expect_table(shape);
  }
}

// More keys than threads.
TEST(RowTable, FindsDocumentsThatManyThreadsShare) {
  Shape shape{.q_rows = 3000, .kv_rows = 3000, .head_dim = 8, .dtype = DType::bf16, .mask = Mask::causal};
  shape.documents = documents_of({1, 1, 2, 1500, 3, 700, 1}, 3000);
  expect_table(shape);
}

TEST(NaiveSpans, AgreeWithTheOracle) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    Dice dice(seed);
    Shape shape{.q_heads = 2, .kv_heads = 1, .head_dim = 24, .seed = seed};
    shape.dtype = dice.one_of(kDTypes);
    shape.mask = dice.one_of(kMasks);
    shape.batch = dice.one_of({1, 2});
    shape.kv_rows = dice.length(200);
    shape.q_rows = dice.between(0, 1) == 0 ? shape.kv_rows : dice.length(200);
    shape.window = dice.window(shape.kv_rows);
    throw_spans(dice, shape);
    EXPECT_RUNS_ON_MODEL(shape, kNaive, 1);
  }
}

class HopperSpans : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const hopper::Tuning& tuning = hopper::kTunings[GetParam()];
    if (!tuning.runs || tuning.splits) GTEST_SKIP() << "has no form for rows of a table";
  }
  int64_t head_dim() const { return hopper::kTunings[GetParam()].head_dim; }
  int64_t tile_q() const { return hopper::kTunings[GetParam()].tile_q(); }
  int64_t tile_kv() const { return hopper::kTunings[GetParam()].tile_kv; }
  dispatch::ForwardChoice choice() const {
    return {.kernel = dispatch::ForwardKernel::hopper_forward, .tuning = GetParam()};
  }
};
INSTANTIATE_TEST_SUITE_P(Tuning, HopperSpans, testing::Range(0, hopper::kNumTunings));

TEST_P(HopperSpans, TakeDocumentsOfAnyLength) {
  for (const Mask mask : {Mask::none, Mask::causal}) {
    const int64_t rows = tile_q() + 3 * tile_kv() + 21;
    Shape shape{.q_heads = 2,
                .kv_heads = 1,
                .q_rows = rows,
                .kv_rows = rows,
                .head_dim = head_dim(),
                .dtype = mask == Mask::none ? DType::bf16 : DType::fp16,
                .mask = mask};
    shape.documents = documents_of({3, 2 * tile_kv() + 9, 1, tile_kv() - 5}, rows);
    EXPECT_RUNS_ON_MODEL(shape, choice(), 1);
  }
}

TEST_P(HopperSpans, TakeAPrefixForEachEntry) {
  Shape shape{.batch = 2,
              .q_rows = tile_q() + 60,
              .kv_rows = tile_q() + 60,
              .head_dim = head_dim(),
              .dtype = DType::bf16,
              .mask = Mask::causal};
  shape.prefix = {static_cast<int32_t>(tile_kv() + 11), 0};
  EXPECT_RUNS_ON_MODEL(shape, choice(), 2);
}

TEST_P(HopperSpans, LeaveRowsOfPaddingZero) {
  Shape shape{.batch = 2,
              .q_rows = tile_q() + 90,
              .kv_rows = tile_q() + 90,
              .head_dim = head_dim(),
              .dtype = DType::fp16,
              .mask = Mask::causal};
  shape.left_padding = {static_cast<int32_t>(tile_q() + 5), 70};
  EXPECT_RUNS_ON_MODEL(shape, choice(), 1);
}

// One block has all tiles, which begin and end with other blocks of keys.
TEST(HopperSpansShapes, GoFromTileToTile) {
  for (const int64_t head_dim : {64, 128}) {
    Shape shape{.batch = 2,
                .q_heads = 3,
                .kv_heads = 1,
                .q_rows = 500,
                .kv_rows = 500,
                .head_dim = head_dim,
                .dtype = DType::bf16,
                .mask = Mask::causal,
                .window = {300, Window::kUnlimited}};
    shape.documents = documents_of({130, 20, 200}, 500);
    shape.left_padding = {0, 150};
    const int tuning = head_dim == 64 ? 0 : 4;
    ASSERT_EQ(hopper::kTunings[tuning].head_dim, head_dim);
    for (const uint64_t seed : {0, 1}) {
      Problem problem(shape);
      const auto time = seed == 1 ? model::CopyTime::early : model::CopyTime::late;
      run_on_model(problem, {.choice = {.kernel = dispatch::ForwardKernel::hopper_forward, .tuning = tuning},
                             .settings = {.seed = seed, .copies = time, .stores = time},
                             .sms = 1});
      EXPECT_AGREES_WITH_ORACLE(problem, shape);
    }
  }
}

TEST(HopperSpansShapes, AgreeWithTheOracle) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Dice dice(seed);
    Shape shape{.q_heads = 2, .kv_heads = 1, .seed = seed};
    shape.head_dim = dice.one_of({40, 64, 128});
    shape.dtype = dice.between(0, 1) == 0 ? DType::fp16 : DType::bf16;
    shape.mask = dice.one_of(kMasks);
    shape.batch = dice.one_of({1, 2});
    shape.kv_rows = dice.between(1, 420);
    shape.q_rows = dice.between(0, 1) == 0 ? shape.kv_rows : dice.between(1, 300);
    shape.window = dice.window(shape.kv_rows);
    throw_spans(dice, shape);
    shape.first_keys = 0;
    if (shape.documents.empty() && shape.prefix.empty() && shape.left_padding.empty() && shape.chunk == 0)
      shape.chunk = 50;
    EXPECT_RUNS_ON_MODEL(shape, kHopper, 1);
  }
}

TEST(SpansPlan, FirstKeysGoToTheGeneralFormOfAmpere) {
  Shape shape{.q_rows = 300,
              .kv_rows = 300,
              .dtype = DType::bf16,
              .mask = Mask::causal,
              .window = {50, 0},
              .first_keys = 4};
  const Problem problem(shape);
  const auto plan = dispatch::plan_forward(problem.problem, true, device::find("H200"));
  EXPECT_EQ(plan.kernel, dispatch::ForwardKernel::ampere_forward);
  EXPECT_NE(dispatch::explain(plan, problem.problem, device::find("H200")).find("4 first keys"),
            std::string::npos);
}

}  // namespace
}  // namespace flashmoe::test::spans_test
