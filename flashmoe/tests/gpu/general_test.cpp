// SPDX-License-Identifier: MIT
// The general form of ampere_forward on a GPU: masks, lengths and changes of scores all at once, element by
// element against the oracle. What each alone does is in scores_test.cpp, spans_test.cpp and
// lengths_test.cpp.
//   FLASHMOE_SWEEP=100   so many random problems instead of 60
#include "support/general.h"

#include <gtest/gtest.h>

#include "gpu/on_gpu.h"

namespace flashmoe::test::general_test {
namespace {

using dispatch::ForwardKernel;

// The model's shapes, small enough for compute-sanitizer.
TEST(GpuSmall, GeneralFormOfAmpere) {
  SKIP_WITHOUT_GPU();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Shape shape = random_general_shape(seed, 200);
    if (shape.q_rows == 0 || shape.kv_rows == 0) continue;  // no kernel is asked
    EXPECT_RUNS_ON_GPU(shape, {.kernel = ForwardKernel::ampere_forward});
  }
}

TEST(GpuGeneral, RandomOnesAgreeWithTheOracle) {
  SKIP_WITHOUT_GPU();
  const uint64_t count = number_from("FLASHMOE_SWEEP", 60);
  for (uint64_t seed = 101; seed <= 100 + count; ++seed) {
    const Shape shape = random_general_shape(seed, 1500);
    if (shape.q_rows == 0 || shape.kv_rows == 0) continue;
    EXPECT_RUNS_ON_GPU(shape, {.kernel = ForwardKernel::ampere_forward});
    EXPECT_RUNS_ON_GPU(shape);  // what is chosen here
  }
}

// More blocks than an SM holds, under every kind of mask.
TEST(GpuGeneral, ManyTiles) {
  SKIP_WITHOUT_GPU();
  for (const int64_t head_dim : {64, 128, 256}) {
    Shape shape{.q_heads = 32,
                .kv_heads = 8,
                .q_rows = 700,
                .kv_rows = 700,
                .head_dim = head_dim,
                .dtype = DType::bf16,
                .mask = Mask::causal};
    shape.sinks = some_sinks(shape);
    shape.softcap = 5;
    EXPECT_RUNS_ON_GPU(shape, {.kernel = ForwardKernel::ampere_forward});
    Shape documents = shape;
    documents.documents = documents_of({100, 250, 3}, 700);
    EXPECT_RUNS_ON_GPU(documents, {.kernel = ForwardKernel::ampere_forward});
    const Shape sequences = packed(shape, {300, 5, 395}, {300, 200, 200});
    EXPECT_RUNS_ON_GPU(sequences, {.kernel = ForwardKernel::ampere_forward});
  }
}

}  // namespace
}  // namespace flashmoe::test::general_test
