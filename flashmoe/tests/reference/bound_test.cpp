// SPDX-License-Identifier: MIT
// Tests the oracle's error bound: correct ways to compute attention must pass, and wrong ones must fail. Each
// wrong variant is a bug that a real kernel could have.
#include "reference/bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "numeric/half.h"
#include "support/problem.h"

namespace flashmoe::test::bound_test {
namespace {

struct Variant {
  const char* name;
  int64_t block = 64;          // keys per step of the online softmax
  bool round_weights = false;  // P to the input's type before P V
  int64_t keys_more = 0;       // number of keys by which the mask is off
  int64_t skipped_key = -1;    // counted from the end: 0 is the last key
  int64_t skipped_in_pv = -1;  // left out of P V only: the sum of P is right
  int64_t v_shift = 0;         // rows by which V is read too far
  int64_t head_shift = 0;      // K and V of a wrong head
  bool rescale_out = true;     // when the maximum rises
  bool rescale_sum = true;
  float scale_by = 1;
};

float round_to(DType dtype, float x) {
  return dtype == DType::fp32 ? x : dtype == DType::fp16 ? to_float(to_fp16(x)) : to_float(to_bf16(x));
}

std::vector<float> rows_of(const Tensor& t, int64_t b, int64_t h) {
  std::vector<float> rows;
  for (int64_t s = 0; s < t.sizes[2]; ++s)
    for (int64_t d = 0; d < t.sizes[3]; ++d) rows.push_back(Problem::get(t, b, h, s, d));
  return rows;
}

// Fills the problem's out and lse as `variant` would: fp32, row by row.
void compute(Problem& problem, const Variant& variant) {
  const ForwardProblem& p = problem.problem;
  const ForwardArgs& args = problem.args;
  const int64_t dim = p.head_dim;
  const float scale_log2e = p.scale * variant.scale_by * 1.44269504F;
  std::vector<float> sum_pv(dim), logit(variant.block);
  float* lse = args.lse;
  for (int64_t h = 0; h < p.q_heads; ++h) {  // of one batch entry
    const int64_t kv_head = (h / p.group() + variant.head_shift) % p.kv_heads;
    std::vector<float> q = rows_of(args.q, 0, h);
    for (float& x : q) x *= scale_log2e;
    const std::vector<float> k = rows_of(args.k, 0, kv_head);
    const std::vector<float> v = rows_of(args.v, 0, kv_head);
    for (int64_t i = 0; i < p.q_rows; ++i) {
      const int64_t keys = std::clamp<int64_t>(p.visible(i).end + variant.keys_more, 0, p.kv_rows);
      float max = -std::numeric_limits<float>::infinity();
      float sum = 0;
      std::fill(sum_pv.begin(), sum_pv.end(), 0.0F);
      for (int64_t begin = 0; begin < keys; begin += variant.block) {
        const int64_t count = std::min(variant.block, keys - begin);
        const float before = max;
        for (int64_t j = 0; j < count; ++j) {
          logit[j] = 0;
          for (int64_t d = 0; d < dim; ++d) logit[j] += q[i * dim + d] * k[(begin + j) * dim + d];
          max = std::max(max, logit[j]);
        }
        const float rescale = std::exp2(before - max);
        if (variant.rescale_sum) sum *= rescale;
        if (variant.rescale_out) {
          for (float& x : sum_pv) x *= rescale;
        }
        for (int64_t j = 0; j < count; ++j) {
          const int64_t from_end = keys - 1 - (begin + j);
          if (from_end == variant.skipped_key) continue;
          const float weight = std::exp2(logit[j] - max);
          sum += weight;
          if (from_end == variant.skipped_in_pv) continue;
          const float rounded = variant.round_weights ? round_to(p.dtype, weight) : weight;
          const float* v_row = v.data() + (begin + j + variant.v_shift) % p.kv_rows * dim;
          for (int64_t d = 0; d < dim; ++d) sum_pv[d] += rounded * v_row[d];
        }
      }
      for (int64_t d = 0; d < dim; ++d) Problem::set(args.out, 0, h, i, d, sum > 0 ? sum_pv[d] / sum : 0);
      if (lse != nullptr) *lse++ = sum > 0 ? (max + std::log2(sum)) * 0.693147181F : max;
    }
  }
}

Shape causal(DType dtype, int64_t rows, int64_t head_dim, float spread) {
  return {.q_heads = 2,
          .kv_heads = 2,
          .q_rows = rows,
          .kv_rows = rows,
          .head_dim = head_dim,
          .dtype = dtype,
          .mask = Mask::causal,
          .spread = spread};
}

// Shapes with more rows than a block, and with logits from a few units up to +-1e4.
std::vector<Shape> shapes(DType dtype) {
  std::vector<Shape> all;
  for (float spread : {1.0F, 3.0F, 100.0F}) {
    all.push_back(causal(dtype, 129, 64, spread));
    all.push_back(causal(dtype, 257, 16, spread));
  }
  Shape longer_kv = causal(dtype, 33, 128, 1);
  longer_kv.kv_rows = 577;
  all.push_back(longer_kv);
  return all;
}

// Replaces the first element of each row of q and k so that every logit rises by `by`: fp32 then loses most
// digits of the differences between logits.
void raise_logits(Problem& problem, float by) {
  const float root = std::sqrt(std::abs(by));
  const auto fill = [](const Tensor& t, float value) {
    for (int64_t h = 0; h < t.sizes[1]; ++h)
      for (int64_t s = 0; s < t.sizes[2]; ++s) Problem::set(t, 0, h, s, 0, value);
  };
  fill(problem.args.q, root);
  fill(problem.args.k, by / root / problem.problem.scale);
}

const Variant kHonest[] = {
    {.name = "a block of 64 keys"},
    {.name = "key by key", .block = 1},
    {.name = "all keys at once", .block = 4096},
    {.name = "rounded weights", .round_weights = true},
    {.name = "rounded weights, key by key", .block = 1, .round_weights = true},
};

const Variant kWrong[] = {
    {.name = "mask shows one key too many", .keys_more = 1},
    {.name = "mask shows one key too few", .keys_more = -1},
    {.name = "last key dropped", .skipped_key = 0},
    {.name = "V of the next key", .v_shift = 1},
    {.name = "K and V of the next head", .head_shift = 1},
    {.name = "output not rescaled", .rescale_out = false},
    {.name = "sum not rescaled", .rescale_sum = false},
    {.name = "neither rescaled", .rescale_out = false, .rescale_sum = false},
};

TEST(Bound, HonestVariantsPass) {
  for (DType dtype : kDTypes) {
    for (const Shape& shape : shapes(dtype)) {
      for (const Variant& variant : kHonest) {
        Problem problem(shape);
        compute(problem, variant);
        EXPECT_AGREES_WITH_ORACLE(problem, shape) << ", " << variant.name;
      }
    }
  }
}

TEST(Bound, HonestVariantsPassWhereAllLogitsAreHugeAndClose) {
  for (DType dtype : kDTypes) {
    for (float by : {1e4F, -1e4F}) {
      for (const Variant& variant : kHonest) {
        const Shape shape = causal(dtype, 129, 64, 1);
        Problem problem(shape);
        raise_logits(problem, by);
        compute(problem, variant);
        EXPECT_AGREES_WITH_ORACLE(problem, shape) << ", logits raised by " << by << ", " << variant.name;
      }
    }
  }
}

TEST(Bound, WrongVariantsFail) {
  for (DType dtype : kDTypes) {
    for (const Shape& shape : shapes(dtype)) {
      for (const Variant& variant : kWrong) {
        Problem problem(shape);
        compute(problem, variant);
        EXPECT_NE(problem.disagreement(), "") << describe(shape) << ", " << variant.name;
      }
    }
  }
}

TEST(Bound, WrongVariantsFailByTheirOutputAlone) {
  for (DType dtype : kDTypes) {
    for (const Shape& shape : shapes(dtype)) {
      for (const Variant& variant : kWrong) {
        Problem problem(shape);
        problem.args.lse = nullptr;
        compute(problem, variant);
        EXPECT_NE(problem.disagreement(), "") << describe(shape) << ", " << variant.name;
      }
    }
  }
}

TEST(Bound, WrongVariantsFailWhereAllLogitsAreHugeAndClose) {
  for (DType dtype : kDTypes) {
    for (float by : {1e4F, -1e4F}) {
      for (const Variant& variant : kWrong) {
        const Shape shape = causal(dtype, 129, 64, 1);
        Problem problem(shape);
        raise_logits(problem, by);
        compute(problem, variant);
        EXPECT_NE(problem.disagreement(), "")
            << describe(shape) << ", raised by " << by << ", " << variant.name;
      }
    }
  }
}

TEST(Bound, AKeyMissingInPvAloneFails) {
  for (DType dtype : kDTypes) {
    const Shape shape{.q_rows = 33, .kv_rows = 577, .head_dim = 64, .dtype = dtype};
    Problem problem(shape);
    compute(problem, {.name = "last key missing in P V", .skipped_in_pv = 0});
    EXPECT_NE(problem.disagreement(), "") << describe(shape);
  }
}

TEST(Bound, AScaleWrongByOneInAThousandFails) {
  for (DType dtype : kDTypes) {
    for (int64_t kv_rows : {17, 129, 577, 4097}) {
      const Shape shape{.q_rows = 17, .kv_rows = kv_rows, .dtype = dtype};
      Problem problem(shape);
      compute(problem, {.name = "scale", .scale_by = 1.001F});
      EXPECT_NE(problem.disagreement(), "") << describe(shape);
      if (dtype != DType::fp32) continue;  // in 16 bits the output alone does not show an error this small
      problem.args.lse = nullptr;
      EXPECT_NE(problem.disagreement(), "") << describe(shape) << ", output alone";
    }
  }
}

TEST(Bound, ADroppedKeyFailsAtLongLengths) {
  for (DType dtype : kDTypes) {
    for (int64_t kv_rows : {1025, 4097}) {
      for (const Variant& variant : {Variant{.name = "first key dropped", .skipped_key = kv_rows - 1},
                                     Variant{.name = "last key dropped", .skipped_key = 0}}) {
        const Shape shape{.q_rows = 3, .kv_rows = kv_rows, .head_dim = 32, .dtype = dtype};
        Problem problem(shape);
        compute(problem, variant);
        EXPECT_NE(problem.disagreement(), "") << describe(shape) << ", " << variant.name;
      }
    }
  }
}

TEST(Bound, NaNFailsWhereverItStands) {
  const Shape shape{.q_rows = 3, .kv_rows = 17};
  Problem problem(shape);
  compute(problem, {.name = "right"});
  ASSERT_AGREES_WITH_ORACLE(problem, shape);
  const float right = problem.out(0, 0, 2, 63);
  Problem::set(problem.args.out, 0, 0, 2, 63, std::numeric_limits<float>::quiet_NaN());
  EXPECT_NE(problem.disagreement(), "");
  Problem::set(problem.args.out, 0, 0, 2, 63, right);
  ASSERT_AGREES_WITH_ORACLE(problem, shape);
  problem.args.lse[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(problem.disagreement(), "");
}

TEST(Bound, AFiniteValueFailsWhereNaNOrInfinityIsExpected) {
  const Shape shape{.q_rows = 1, .kv_rows = 2};
  Problem problem(shape);
  problem.set(problem.args.v, 0, 0, 1, 5, std::numeric_limits<float>::infinity());
  compute(problem, {.name = "right"});
  ASSERT_AGREES_WITH_ORACLE(problem, shape);
  problem.set(problem.args.out, 0, 0, 0, 5, std::numeric_limits<float>::max());
  EXPECT_NE(problem.disagreement(), "");
}

}  // namespace
}  // namespace flashmoe::test::bound_test
