// SPDX-License-Identifier: MIT
// A forward problem with its data: built in one readable line, run on the API, judged by the oracle.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "flashmoe/attention.h"
#include "problem/forward_problem.h"
#include "reference/attention.h"

namespace flashmoe::test {

enum class Layout { bhsd, bshd, padded };  // the order of dimensions in memory; padded leaves gaps after rows and heads

struct Shape {
  int64_t batch = 1;
  int64_t q_heads = 1;
  int64_t kv_heads = 1;
  int64_t q_rows = 1;
  int64_t kv_rows = 1;
  int64_t head_dim = 64;
  DType dtype = DType::fp32;
  Mask mask = Mask::none;
  Layout layout = Layout::bhsd;
  float spread = 1;  // standard deviation of q and k; 100 gives logits of +-1e4 and beyond
  int threads = 0;
  uint64_t seed = 1;
};

std::string describe(const Shape& shape);

// Owns memory for q, k, v, out and lse. Outputs are poisoned with NaN.
class Problem {
 public:
  explicit Problem(const Shape& shape);

  ForwardArgs args;        // may be edited before run()
  ForwardProblem problem;  // what the checks make of args

  void run();  // attention_forward with a workspace of exactly the size it asks for
  float out(int64_t b, int64_t h, int64_t s, int64_t d) const;
  float lse(int64_t b, int64_t h, int64_t s) const;

  // Writes one element of q, k or v, rounded to the dtype.
  void set(const Tensor& tensor, int64_t b, int64_t h, int64_t s, int64_t d, float value);

  // "" when out and lse agree with the oracle everywhere; else the count, the first bad element and both values.
  std::string disagreement() const;

  // Raw bytes of out and lse, for bitwise comparisons.
  std::vector<std::byte> output_bytes() const;

 private:
  std::vector<std::byte> q_, k_, v_, out_;
  std::vector<float> lse_;
  Shape shape_;
};

}  // namespace flashmoe::test

// Fails with the shape and the first bad element.
#define EXPECT_AGREES_WITH_ORACLE(problem, shape) \
  EXPECT_EQ((problem).disagreement(), "") << ::flashmoe::test::describe(shape)
