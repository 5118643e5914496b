// SPDX-License-Identifier: MIT
// Tests the gradients' error bounds: correct ways to compute gradients must pass, and wrong ones must fail.
// Each variant in kWrong is a bug that a real kernel could have.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/backward_problem.h"
#include "support/tensors.h"

namespace flashmoe::test::backward::backward_bound_test {
namespace {

struct Variant {
  const char* name;
  bool round_p_in_dv = false;  // P to the input's type before P^T dO
  bool round_p_in_ds = false;  // and before it is multiplied by dP - delta
  bool round_ds = false;       // dS to the input's type before it is multiplied
  int64_t keys_more = 0;       // number of keys by which the mask is off
  bool has_delta = true;
  bool has_dlse = true;
  bool scales_dk = true;
  bool sums_group = true;    // if false: dk and dv of the last query head only
  int64_t skipped_row = -1;  // row left out of sums over rows, counted from the end
  float scale_by = 1;
};

float round_to(const Tensor& like, float x) {
  float word[1];
  Tensor one = like;
  one.data = word;
  store(one, 0, x);
  return load(one, 0);
}

// Fills dq, dk and dv as `variant` would: fp32, one (row, key) pair at a time.
void compute(BackwardProblem& problem, const Variant& variant) {
  const ForwardProblem& p = problem.forward.problem;
  const ForwardArgs& args = problem.forward.args;
  const int64_t dim = p.head_dim;
  const float scale_log2e = p.scale * variant.scale_by * 1.44269504F;
  const auto elements = static_cast<std::size_t>(p.kv_rows * dim);
  const auto rounded = [&](bool round, float x) { return round ? round_to(args.q, x) : x; };
  for (int64_t kv_head = 0; kv_head < p.kv_heads; ++kv_head) {  // of one batch entry
    std::vector<float> dk(elements, 0), dv(elements, 0);
    for (int64_t h = kv_head * p.group(); h < (kv_head + 1) * p.group(); ++h) {
      if (!variant.sums_group) {
        std::fill(dk.begin(), dk.end(), 0.0F);
        std::fill(dv.begin(), dv.end(), 0.0F);
      }
      for (int64_t i = 0; i < p.q_rows; ++i) {
        const float lse = args.lse[h * p.q_rows + i];
        float delta = 0;
        for (int64_t d = 0; d < dim; ++d)
          delta += Problem::get(args.out, 0, h, i, d) * Problem::get(problem.dout, 0, h, i, d);
        if (!variant.has_delta) delta = 0;
        if (variant.has_dlse && problem.dlse() != nullptr) delta -= problem.dlse()[h * p.q_rows + i];
        std::vector<float> dq(static_cast<std::size_t>(dim), 0);
        const int64_t keys = std::clamp<int64_t>(p.visible(i).end + variant.keys_more, 0, p.kv_rows);
        for (int64_t j = 0; j < keys && !std::isinf(lse); ++j) {
          float s = 0, dp = 0;
          for (int64_t d = 0; d < dim; ++d) {
            s += Problem::get(args.q, 0, h, i, d) * Problem::get(args.k, 0, kv_head, j, d);
            dp += Problem::get(problem.dout, 0, h, i, d) * Problem::get(args.v, 0, kv_head, j, d);
          }
          const float weight = std::exp2(s * scale_log2e - lse * 1.44269504F);
          const float ds = rounded(variant.round_ds, rounded(variant.round_p_in_ds, weight) * (dp - delta));
          const bool counts = p.q_rows - 1 - i != variant.skipped_row;
          for (int64_t d = 0; d < dim; ++d) {
            dq[d] += ds * Problem::get(args.k, 0, kv_head, j, d);
            if (!counts) continue;
            dk[j * dim + d] += ds * Problem::get(args.q, 0, h, i, d);
            dv[j * dim + d] +=
                rounded(variant.round_p_in_dv, weight) * Problem::get(problem.dout, 0, h, i, d);
          }
        }
        for (int64_t d = 0; d < dim; ++d) Problem::set(problem.dq, 0, h, i, d, dq[d] * p.scale);
      }
    }
    for (int64_t j = 0; j < p.kv_rows; ++j) {
      for (int64_t d = 0; d < dim; ++d) {
        Problem::set(problem.dk, 0, kv_head, j, d, dk[j * dim + d] * (variant.scales_dk ? p.scale : 1));
        Problem::set(problem.dv, 0, kv_head, j, d, dv[j * dim + d]);
      }
    }
  }
}

std::vector<Shape> shapes(DType dtype) {
  const Shape square{.q_heads = 2,
                     .kv_heads = 1,
                     .q_rows = 65,
                     .kv_rows = 65,
                     .head_dim = 32,
                     .dtype = dtype,
                     .mask = Mask::causal};
  Shape sharp = square;
  sharp.spread = 3;
  Shape huge = square;  // logits of +-1e4: fp32 loses digits of their differences
  huge.spread = 40;
  Shape longer_kv = square;
  longer_kv.kv_rows = 129;
  Shape longer_q = square;  // some rows see no key
  longer_q.q_rows = 80;
  return {square, sharp, huge, longer_kv, longer_q};
}

const Variant kHonest[] = {
    {.name = "all in fp32"},
    {.name = "rounded P", .round_p_in_dv = true},
    {.name = "rounded P and dS", .round_p_in_dv = true, .round_ds = true},
    {.name = "dS of rounded P", .round_p_in_dv = true, .round_p_in_ds = true, .round_ds = true},
};

const Variant kWrong[] = {
    {.name = "mask shows one key too many", .keys_more = 1},
    {.name = "mask shows one key too few", .keys_more = -1},
    {.name = "no delta", .has_delta = false},
    {.name = "no gradient of the LSE", .has_dlse = false},
    {.name = "dk without the scale", .scales_dk = false},
    {.name = "one head of the group", .sums_group = false},
    {.name = "last row missing in dk and dv", .skipped_row = 0},
    {.name = "scale off by a hundredth", .scale_by = 1.01F},
};

TEST(BackwardBound, HonestVariantsPass) {
  for (DType dtype : kDTypes) {
    for (const Shape& shape : shapes(dtype)) {
      BackwardProblem problem(shape, true);
      const reference::BackwardResult expected = problem.oracle();
      for (const Variant& variant : kHonest) {
        compute(problem, variant);
        EXPECT_EQ(problem.disagreement(expected), "") << describe(shape) << ", " << variant.name;
      }
    }
  }
}

TEST(BackwardBound, WrongVariantsFail) {
  for (DType dtype : kDTypes) {
    for (const Shape& shape : shapes(dtype)) {
      if (shape.spread > 10) continue;  // one key has all the weight, so most bugs have no effect
      BackwardProblem problem(shape, true);
      const reference::BackwardResult expected = problem.oracle();
      for (const Variant& variant : kWrong) {
        compute(problem, variant);
        EXPECT_NE(problem.disagreement(expected), "") << describe(shape) << ", " << variant.name;
      }
    }
  }
}

TEST(BackwardBound, NaNFailsInEveryGradient) {
  BackwardProblem problem({.q_rows = 3, .kv_rows = 5, .head_dim = 4});
  compute(problem, {.name = "right"});
  ASSERT_EQ(problem.disagreement(), "");
  for (const Tensor* t : {&problem.dq, &problem.dk, &problem.dv}) {
    const float right = Problem::get(*t, 0, 0, 2, 1);
    Problem::set(*t, 0, 0, 2, 1, std::numeric_limits<float>::quiet_NaN());
    EXPECT_NE(problem.disagreement(), "");
    Problem::set(*t, 0, 0, 2, 1, right);
    ASSERT_EQ(problem.disagreement(), "");
  }
}

}  // namespace
}  // namespace flashmoe::test::backward::backward_bound_test
