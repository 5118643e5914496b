// SPDX-License-Identifier: MIT
// Masks by name within sequences of different lengths, on the model of a GPU: the table of what rows see, and
// the kernels that read it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dispatch/sequence_tiles.h"
#include "kernels/backward_on_model.h"
#include "kernels/length_shapes.h"
#include "kernels/on_model.h"
#include "kernels/prepare_runs/launch.h"
#include "kernels/row_table_on_model.h"
#include "support/general.h"

namespace flashmoe::test::span_lengths_test {
namespace {

using dispatch::BackwardKernel;
using dispatch::ForwardKernel;

constexpr dispatch::ForwardChoice kNaive{.kernel = ForwardKernel::naive};
constexpr dispatch::ForwardChoice kAmpere{.kernel = ForwardKernel::ampere_forward};
constexpr dispatch::BackwardChoice kNaiveBackward{.kernel = BackwardKernel::naive_backward};
constexpr dispatch::BackwardChoice kAmpereBackward{.kernel = BackwardKernel::ampere_backward};

// Lengths and spans at once, of up to `most` rows and keys.
Shape random_spans_and_lengths(uint64_t seed, int64_t most) {
  Dice dice(seed);
  Shape shape{.seed = seed};
  shape.head_dim = dice.one_of({40, 64, 128});
  shape.dtype = dice.one_of({DType::fp16, DType::bf16});
  shape.mask = dice.one_of(kMasks);
  shape.kv_heads = dice.one_of({1, 2});
  shape.q_heads = 2;
  throw_lengths(dice, most, most, shape);
  shape.window = dice.window(80);
  throw_spans(dice, shape);
  return shape;
}

bool is_empty(const Shape& shape) { return shape.q_rows == 0 || shape.kv_rows == 0; }

// What prepare_runs writes is what the host finds, row by row; and keys follow from that.
void expect_table(const Shape& shape) {
  const Problem problem(shape);
  const ForwardProblem& p = problem.problem;
  const Spans& spans = problem.args.spans;
  const TableMemory memory(p);
  const auto lengths = dispatch::length_params(p, problem.args.lengths, {}, {});
  const auto params = dispatch::sequence_table_params(p, spans, lengths, true, memory.workspace());
  allow_spans(problem.args);
  allow_lengths(problem.args);
  kernels::prepare_runs::launch_sequences(params, nullptr);

  std::vector<RowRun> rows(static_cast<std::size_t>(p.batch * p.q_rows)), first_keys(rows.size());
  const Sequences sequences(problem.args.lengths, p, spans);
  sequences.with_rows(rows.data(), first_keys.data());
  for (int64_t s = 0; s < sequences.count(); ++s) {
    const Sequence sequence = sequences[s];
    const BatchRows &q = sequence.q, &k = sequence.k;
    const int64_t first = q.batch * p.q_rows + q.rows.begin;
    const int64_t first_key = k.batch * p.kv_rows + k.rows.begin;
    const kernels::Run* found = params.rows + first;
    expect_rows(shape, found, rows.data() + first, q.rows.size());
    if (params.first_keys != nullptr)
      expect_rows(shape, params.first_keys + first, first_keys.data() + first, q.rows.size());
    expect_keys(shape, params.keys + first_key, k.rows.size(), found, q.rows.size());
  }
}

TEST(SequenceTable, IsWhatTheHostFinds) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Shape shape = random_spans_and_lengths(seed, 250);
    if (!is_empty(shape)) expect_table(shape);
  }
}

// More keys than threads of a block, and sequences that cut documents.
TEST(SequenceTable, FindsDocumentsThatManyThreadsShare) {
  Shape shape = packed({.head_dim = 8, .dtype = DType::bf16, .mask = Mask::causal}, {300, 900, 2, 800},
                       {300, 900, 2, 800}, 5);
  shape.documents = documents_of({1, 1, 2, 900, 3, 700, 1}, shape.kv_rows);
  expect_table(shape);
}

// Documents that sequences cut, another prefix and padding for each, chunks, first keys; empty sequences,
// rows that don't count, tails, several tiles.
Shape several(DType dtype, int64_t head_dim, bool first_keys) {
  Shape shape =
      packed({.q_heads = 2, .kv_heads = 1, .head_dim = head_dim, .dtype = dtype, .mask = Mask::causal},
             {150, 1, 0, 70, 9}, {150, 90, 5, 270, 0}, 3);
  shape.q_used = {150, 1, 0, 66, 9};
  if (first_keys) {
    shape.window = {30, 0};
    shape.first_keys = 5;
    shape.documents = documents_of({120, 60, 100}, shape.kv_rows);
  } else {
    shape.documents = documents_of({90, 160, 40}, shape.kv_rows);
    shape.prefix = {40, 0, 0, 230, 7};
    shape.left_padding = {3, 70, 0, 0, 0};
  }
  return shape;
}

TEST(SpansAndLengths, OfTheScalarKernelsAgreeWithTheOracle) {
  for (const bool first_keys : {false, true}) {
    const Shape shape = several(first_keys ? DType::fp32 : DType::bf16, 24, first_keys);
    EXPECT_RUNS_ON_MODEL(shape, kNaive, 1);
    EXPECT_GRADIENTS_ON_MODEL(shape, {.deterministic = true, .seeds = 1, .choice = kNaiveBackward});
  }
  Shape dropped = several(DType::fp16, 24, true);
  dropped.dropout = {.p = 0.3F, .seed = 7};
  EXPECT_RUNS_ON_MODEL(dropped, kNaive, 1);
  EXPECT_GRADIENTS_ON_MODEL(dropped, {.seeds = 1, .choice = kNaiveBackward});
}

TEST(SpansAndLengths, OfTheGeneralFormsAgreeWithTheOracle) {
  for (const int64_t head_dim : {64, 128, 256}) {
    const bool first_keys = head_dim != 128;
    Shape shape = several(first_keys ? DType::bf16 : DType::fp16, head_dim, first_keys);
    EXPECT_RUNS_ON_MODEL(shape, kAmpere, 1);
    shape.softcap = 3;
    shape.slopes = some_slopes(shape);
    shape.sinks = some_sinks(shape);
    EXPECT_RUNS_ON_MODEL(shape, kAmpere, 1);
    EXPECT_GRADIENTS_ON_MODEL(shape, {.with_dlse = true, .seeds = 1, .choice = kAmpereBackward});
  }
}

// Padded, with groups in a tile; and queries that are packed before keys that are not.
TEST(SpansAndLengths, OfPaddedBatchesAgreeWithTheOracle) {
  Shape steps = padded(
      {.q_heads = 8, .kv_heads = 2, .q_rows = 3, .kv_rows = 200, .dtype = DType::bf16, .mask = Mask::causal},
      {3, 1, 0, 2}, {200, 2, 50, 64});
  steps.left_padding = {7, 0, 3, 60};
  Shape mixed = packed_queries_and_padded_keys({.q_heads = 2, .dtype = DType::fp16, .mask = Mask::causal});
  mixed.chunk = 40;
  mixed.documents = documents_of({20, 100, 130, 10, 200}, 3 * mixed.kv_rows);
  for (const Shape& shape : {steps, mixed}) {
    EXPECT_RUNS_ON_MODEL(shape, kNaive, 1);
    EXPECT_RUNS_ON_MODEL(shape, kAmpere, 1);
    EXPECT_GRADIENTS_ON_MODEL(shape, {.seeds = 1, .choice = kNaiveBackward});
    EXPECT_GRADIENTS_ON_MODEL(shape, {.seeds = 1, .choice = kAmpereBackward});
  }
}

TEST(SpansAndLengths, RandomOnesAgreeWithTheOracle) {
  for (uint64_t seed = 101; seed <= 116; ++seed) {
    const Shape shape = random_spans_and_lengths(seed, 300);
    if (is_empty(shape)) continue;
    EXPECT_RUNS_ON_MODEL(shape, seed % 4 == 0 ? kNaive : kAmpere, 1);
    EXPECT_GRADIENTS_ON_MODEL(shape,
                              {.seeds = 1, .choice = seed % 4 == 0 ? kNaiveBackward : kAmpereBackward});
  }
}

// Nobody has looked at lengths that lie on the GPU: whatever they say, nobody leaves tensors and workspace.
TEST(SpansAndLengths, StayInsideWhateverLengthsSay) {
  const int32_t q_starts[] = {-5, 190, 20, 5000}, k_starts[] = {70, 3, 190, -1};
  for (const bool first_keys : {false, true}) {
    Shape shape = packed({.q_heads = 2, .head_dim = 64, .dtype = DType::bf16, .mask = Mask::causal},
                         {130, 20, 50}, {130, 20, 50});
    shape.documents = documents_of({60, 90}, 200);
    shape.prefix = {-1, 1 << 30, 9};
    shape.first_keys = first_keys ? 9 : 0;
    if (first_keys) shape.window = {20, 0};
    for (const dispatch::ForwardChoice& choice : {kNaive, kAmpere}) {
      Problem forward(shape);
      forward.args.lengths.q_starts = q_starts;
      forward.args.lengths.k_starts = k_starts;
      run_on_model(forward, {.choice = choice});
    }
    BackwardProblem problem(shape);
    problem.forward.args.lengths.q_starts = q_starts;
    problem.forward.args.lengths.k_starts = k_starts;
    for (const dispatch::BackwardChoice& choice : {kNaiveBackward, kAmpereBackward})
      run_backward_on_model(problem, false, {}, {}, choice);
  }
}

TEST(SpansAndLengthsPlan, GeneralFormsTakeThemOnEveryGpu) {
  const Problem problem(several(DType::bf16, 64, false));
  const ForwardProblem& p = problem.problem;
  for (const char* gpu : {"H200", "L4"}) {
    const device::Spec spec = device::find(gpu);
    const auto forward = dispatch::plan_forward(p, true, spec);
    EXPECT_EQ(forward.kernel, ForwardKernel::ampere_forward);
    EXPECT_NE(explain(forward, p, spec).find("form: the general one"), std::string::npos)
        << explain(forward, p, spec);
    const auto backward = dispatch::plan_backward(p, true, spec, false);
    EXPECT_EQ(backward.kernel, BackwardKernel::ampere_backward);
    EXPECT_TRUE(backward.general);
    EXPECT_EQ(dispatch::plan_forward(p, false, spec).kernel, ForwardKernel::naive);
    EXPECT_EQ(dispatch::plan_backward(p, true, spec, true).kernel, BackwardKernel::naive_backward);
  }
  EXPECT_EQ(dispatch::plan_forward(p, true, device::find("H200")).reason,
            std::string("spans, beside sequences of different lengths"));
}

}  // namespace
}  // namespace flashmoe::test::span_lengths_test
