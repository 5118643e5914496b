// SPDX-License-Identifier: MIT
#include "dispatch/explain_backward.h"

#include <gtest/gtest.h>

namespace flashmoe::dispatch::explain_backward_test {
namespace {

std::string explain_on(const char* gpu, DType dtype, bool deterministic) {
  const ForwardProblem problem{.batch = 2,
                               .q_heads = 8,
                               .kv_heads = 4,
                               .q_rows = 513,
                               .kv_rows = 300,
                               .head_dim = 72,
                               .dtype = dtype,
                               .scale = 1};
  const device::Spec& spec = device::find(gpu);
  return explain(plan_backward(problem, true, spec, deterministic), problem, spec);
}

void expect_has(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST(ExplainBackward, NamesTheKernelItsTilesAndTheWorkspaceWithItsFormula) {
  expect_has(
      explain_on("H200", DType::bf16, false),
      {"cuda: hopper_backward, because: ", "head_dim 72 in a form compiled for 128", "on 132 SMs",
       "dq is summed in the order in which tiles finish",
       "workspace: 5324804 bytes = 4 x 16 heads x 640 rows x (128 sums of dq + 2) + a counter of 4\n"});
  expect_has(explain_on("L4", DType::fp16, true),
             {"cuda: ampere_backward, because: ", "same bits in every run: dk and dv, and dq",
              "sums of dq + 2) + counters"});
  expect_has(
      explain_on("H200", DType::fp32, false),
      {"cuda: naive_backward, because: ", "same bits in every run: dk and dv, and dq", "workspace: none"});
}

TEST(ExplainBackward, SaysThatBlocksShareManyTiles) {
  ForwardProblem problem{.q_heads = 40,
                         .kv_heads = 40,
                         .q_rows = 513,
                         .kv_rows = 513,
                         .head_dim = 64,
                         .dtype = DType::bf16,
                         .scale = 1};
  const device::Spec& spec = device::find("H200");
  const auto text = [&] { return explain(plan_backward(problem, true, spec, false), problem, spec); };
  expect_has(text(), {"grid: 200 tiles of keys, 384 threads"});
  problem.spans.documents = true;
  expect_has(text(), {"grid: 200 tiles of keys, shared by 132 blocks of 384 threads"});
}

TEST(ExplainBackward, NamesTheWindow) {
  const ForwardProblem problem{
      .q_rows = 513, .kv_rows = 300, .head_dim = 64, .dtype = DType::bf16, .scale = 1, .window = {7, 2}};
  for (const char* gpu : {"H200", "L4"}) {
    const device::Spec& spec = device::find(gpu);
    expect_has(explain(plan_backward(problem, true, spec, false), problem, spec),
               {"window: a row sees 7 keys before its position and 2 behind it\n"});
  }
}

TEST(ExplainBackward, NamesTheGeneralFormAndWhy) {
  ForwardProblem problem{.q_heads = 2,
                         .q_rows = 513,
                         .kv_rows = 300,
                         .head_dim = 64,
                         .dtype = DType::bf16,
                         .scale = 1,
                         .softcap = 20,
                         .slopes = true};
  const auto text_on = [&](const char* gpu) {
    const device::Spec& spec = device::find(gpu);
    return explain(plan_backward(problem, true, spec, false), problem, spec);
  };
  expect_has(text_on("A100 40GB"), {"cuda: ampere_backward in its general form, because: 16-bit inputs",
                                    "scores: capped at 20, less a slope times the distance\n"});
  expect_has(text_on("H200"), {"cuda: ampere_backward in its general form, because: scores that change in a "
                               "way that hopper_backward has no form for\n"});
  problem.dropout.p = 0.1F;
  expect_has(text_on("H200"), {"cuda: ampere_backward in its general form, because: dropout\n",
                               "weights left out at random, 10 %\n"});
  problem.dropout = {};
  problem.spans.first_keys = 4;
  expect_has(text_on("H200"), {"in its general form, because: first keys beside a run", "+ what rows see"});
  problem.spans = {};
  problem.lengths = {.given = true, .q_packed = true, .k_packed = true, .sequences = 3};
  expect_has(text_on("H200"),
             {"in its general form, because: scores that change, beside lengths", "+ lists of tiles"});
}

TEST(ExplainBackward, ABoolTensorIsBitsWhereNothingElseIsGeneral) {
  ForwardProblem problem{.q_heads = 2,
                         .q_rows = 513,
                         .kv_rows = 300,
                         .head_dim = 64,
                         .dtype = DType::bf16,
                         .scale = 1,
                         .attn_mask = true,
                         .pairs = {.type = PairType::boolean, .per_head = true}};
  const device::Spec& spec = device::find("H200");
  for (const bool deterministic : {false, true}) {
    const BackwardPlan plan = plan_backward(problem, true, spec, deterministic);
    expect_has(explain(plan, problem, spec),
               {"cuda: hopper_backward, because: ", "pairs: one bit says whether each counts",
                " + two bits for each pair and what whole tiles have"});
    // 640 padded rows, 384 keys: of two heads, two words of 16 bytes per 128 pairs; 16 bytes per 64 rows,
    // keys.
    ForwardProblem plain = problem;
    plain.attn_mask = false;
    const std::size_t without = plan_backward(plain, true, spec, deterministic).workspace_bytes;
    EXPECT_EQ(plan.workspace_bytes, (without + 63) / 64 * 64 + 2 * (2 * 640 * 3 * 16 + (10 + 6) * 16));
  }
  // Elsewhere, and with anything else beside it, the tensor is read as it lies, and there are no bits.
  const auto expect_general_on = [&](const char* gpu) {
    const device::Spec& other = device::find(gpu);
    const std::string text = explain(plan_backward(problem, true, other, false), problem, other);
    expect_has(text, {"cuda: ampere_backward in its general form", "pairs: the tensor as it lies"});
    EXPECT_EQ(text.find("bits for each pair"), std::string::npos);
  };
  expect_general_on("L4");
  problem.softcap = 2;
  expect_general_on("H200");
  problem.softcap = 0;
  problem.pairs.type = PairType::fp32;
  expect_general_on("H200");
}

}  // namespace
}  // namespace flashmoe::dispatch::explain_backward_test
