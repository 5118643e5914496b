// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "support/problem.h"

namespace flashmoe::test {
namespace {

TEST(Forward, AgreesWithTheOracleOnAPlainShape) {
  for (DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    const Shape shape{
        .q_heads = 2, .kv_heads = 1, .q_rows = 37, .kv_rows = 129, .dtype = dtype, .mask = Mask::causal};
    Problem problem(shape);
    problem.run();
    EXPECT_AGREES_WITH_ORACLE(problem, shape);
  }
}

}  // namespace
}  // namespace flashmoe::test
