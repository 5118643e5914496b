// SPDX-License-Identifier: MIT
#include "operators/family.h"

#include <gtest/gtest.h>

namespace dent::family_test {
namespace {

TEST(Family, IsKnownByTheNamesThatOperatorsGoBy) {
  for (const char* op : {"attention.forward", "flash_attn", "Causal-Attention", "sdpa", "mha forward"}) {
    EXPECT_EQ(family_of(op), Family::attention) << op;
  }
  for (const char* op :
       {"gemm", "sgemm", "hgemm_nt", "matmul", "MatMul fp16", "bmm", "linear", "conv2d.forward"}) {
    EXPECT_EQ(family_of(op), Family::matmul) << op;
  }
  for (const char* op : {"softmax", "row softmax", "log_softmax"})
    EXPECT_EQ(family_of(op), Family::softmax) << op;
}

TEST(Family, OfANameThatSaysNothingIsOther) {
  for (const char* op : {"", "sum", "scale", "histogram", "layernorm", "transpose", "gemv", "summary",
                         "nonlinearity", "convert", "comma", "gelu"}) {
    EXPECT_EQ(family_of(op), Family::other) << op;
  }
}

}  // namespace
}  // namespace dent::family_test
