// SPDX-License-Identifier: MIT
// The oracle against cases computed by hand.
#include "reference/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "api/check_forward.h"

namespace flashmoe::test::attention_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// A problem small enough to check by hand: fp32, one batch entry, head_dim 1, scale 1. q [heads][rows], k and
// v [kv_heads][rows].
struct Scalars {
  std::vector<float> q, k, v;
  int64_t q_heads = 1;
  int64_t kv_heads = 1;
  Mask mask = Mask::none;
  float scale = 1;

  reference::ForwardResult attend() {
    const std::array<int64_t, 4> q_sizes{1, q_heads, static_cast<int64_t>(q.size()) / q_heads, 1};
    const std::array<int64_t, 4> kv_sizes{1, kv_heads, static_cast<int64_t>(k.size()) / kv_heads, 1};
    ForwardArgs args{.q = Tensor::dense(q.data(), DType::fp32, q_sizes),
                     .k = Tensor::dense(k.data(), DType::fp32, kv_sizes),
                     .v = Tensor::dense(v.data(), DType::fp32, kv_sizes),
                     .out = Tensor::dense(nullptr, DType::fp32, q_sizes),
                     .mask = mask,
                     .scale = scale};
    return reference::attention_forward(check_shapes(args), args);
  }
};

TEST(Reference, OneKeyGivesItsValueAndItsLogit) {
  const auto result = Scalars{.q = {3}, .k = {5}, .v = {7}}.attend();
  EXPECT_EQ(result.out[0], 7);
  EXPECT_EQ(result.lse[0], 15);
}

TEST(Reference, WeightsAreProportionalToExponentialsOfLogits) {
  // Logits 0 and ln 3: weights 1/4 and 3/4.
  const auto result = Scalars{.q = {1}, .k = {0, std::log(3.0F)}, .v = {8, 16}}.attend();
  EXPECT_NEAR(result.out[0], 14, 1e-6);
  EXPECT_NEAR(result.lse[0], std::log(4.0), 1e-7);
}

TEST(Reference, ScaleMultipliesLogitsAndMayBeZeroOrNegative) {
  const float ln3 = std::log(3.0F);
  EXPECT_NEAR((Scalars{.q = {1}, .k = {0, 2 * ln3}, .v = {8, 16}, .scale = 0.5F}.attend().out[0]), 14, 1e-6);
  EXPECT_NEAR((Scalars{.q = {1}, .k = {0, ln3}, .v = {8, 16}, .scale = -1}.attend().out[0]), 10, 1e-6);
  EXPECT_EQ((Scalars{.q = {1}, .k = {0, ln3}, .v = {8, 16}, .scale = 0}.attend().out[0]), 12);
}

TEST(Reference, DotProductsRunOverTheWholeHeadDim) {
  std::vector<float> q{1, 2, 3}, k{4, 5, 6, 0, 0, 0}, v{1, 2, 3, -1, -2, -3};
  ForwardArgs args{.q = Tensor::dense(q.data(), DType::fp32, {1, 1, 1, 3}),
                   .k = Tensor::dense(k.data(), DType::fp32, {1, 1, 2, 3}),
                   .v = Tensor::dense(v.data(), DType::fp32, {1, 1, 2, 3}),
                   .out = Tensor::dense(nullptr, DType::fp32, {1, 1, 1, 3}),
                   .scale = 1.0F / 32};
  const auto result = reference::attention_forward(check_shapes(args), args);
  // The logits are exactly 1 and 0, so the output is tanh(1/2) times the first value.
  for (int d = 0; d < 3; ++d) EXPECT_NEAR(result.out[d], std::tanh(0.5) * (d + 1), 1e-15);
  EXPECT_NEAR(result.lse[0], std::log(std::exp(1.0) + 1), 1e-15);
}

TEST(Reference, SequencesDoNotSeeEachOther) {
  // All logits are 0, so each row is the mean of the values that it sees. Two rows with one key, one row with
  // three, and a row that belongs to no sequence.
  std::vector<float> q{0, 0, 0, 0}, k{1, 1, 1, 1}, v{4, 1, 3, 8};
  const int32_t q_starts[] = {0, 2, 3}, k_starts[] = {0, 1, 4}, k_used[] = {1, 2};
  ForwardArgs args{.q = Tensor::dense(q.data(), DType::fp32, {1, 1, 4, 1}),
                   .k = Tensor::dense(k.data(), DType::fp32, {1, 1, 4, 1}),
                   .v = Tensor::dense(v.data(), DType::fp32, {1, 1, 4, 1}),
                   .out = Tensor::dense(nullptr, DType::fp32, {1, 1, 4, 1}),
                   .mask = Mask::causal};
  args.lengths = {.q_starts = q_starts, .k_starts = k_starts, .sequences = 2};
  const auto result = reference::attention_forward(check_shapes(args), args);
  EXPECT_EQ(result.out, (std::vector<double>{0, 4, 4, 0}));
  EXPECT_EQ(result.lse, (std::vector<double>{-kInfinity, 0, std::log(3.0), -kInfinity}));
  args.lengths.k_used = k_used;
  EXPECT_EQ(reference::attention_forward(check_shapes(args), args).out, (std::vector<double>{0, 4, 2, 0}));
}

TEST(Reference, CausalMaskAlignsTheLastQueryWithTheLastKey) {
  // All logits are 0, so each row is the mean of the values that it sees.
  const auto longer_kv =
      Scalars{.q = {0, 0}, .k = {1, 1, 1, 1}, .v = {1, 3, 8, 20}, .mask = Mask::causal}.attend();
  EXPECT_EQ(longer_kv.out, (std::vector<double>{4, 8}));
  const auto longer_q = Scalars{.q = {0, 0, 0}, .k = {1, 1}, .v = {4, 8}, .mask = Mask::causal}.attend();
  EXPECT_EQ(longer_q.out, (std::vector<double>{0, 4, 6}));
  EXPECT_EQ(longer_q.lse[0], -kInfinity);
  EXPECT_EQ(longer_q.lse[1], 0);
}

TEST(Reference, TopLeftMaskAlignsTheFirstQueryWithTheFirstKey) {
  const Mask mask = Mask::causal_top_left;
  EXPECT_EQ((Scalars{.q = {0, 0}, .k = {1, 1, 1}, .v = {1, 3, 8}, .mask = mask}.attend().out),
            (std::vector<double>{1, 2}));
  EXPECT_EQ((Scalars{.q = {0, 0, 0}, .k = {1, 1}, .v = {4, 8}, .mask = mask}.attend().out),
            (std::vector<double>{4, 6, 6}));
}

TEST(Reference, NeighbouringQueryHeadsShareAKvHead) {
  EXPECT_EQ((Scalars{.q = {1, 1, 1, 1}, .k = {1, 1}, .v = {5, 9}, .q_heads = 4, .kv_heads = 2}.attend().out),
            (std::vector<double>{5, 5, 9, 9}));
}

TEST(Reference, HugeLogitsDoNotOverflow) {
  const auto result = Scalars{.q = {100}, .k = {100, -100, 99.99F}, .v = {1, 2, 3}}.attend();
  const double other = std::exp(100.0 * (static_cast<double>(99.99F) - 100));
  EXPECT_NEAR(result.out[0], (1 + 3 * other) / (1 + other), 1e-14);
  EXPECT_NEAR(result.lse[0], 1e4 + std::log1p(other), 1e-11);
}

TEST(Reference, MinusInfinityHidesAKeyAndPlusInfinityOrNaNSpoilTheRow) {
  EXPECT_EQ((Scalars{.q = {1}, .k = {-kInf, 2}, .v = {5, 9}}.attend().out[0]), 9);
  EXPECT_TRUE(std::isnan(Scalars{.q = {1}, .k = {kInf, 2}, .v = {5, 9}}.attend().out[0]));
  EXPECT_TRUE(std::isnan(Scalars{.q = {1}, .k = {kNaN, 2}, .v = {5, 9}}.attend().out[0]));
  const auto nothing = Scalars{.q = {1}, .k = {-kInf, -kInf}, .v = {5, 9}}.attend();
  EXPECT_EQ(nothing.out[0], 0);
  EXPECT_EQ(nothing.lse[0], -kInfinity);
}

TEST(Reference, NaNIsNotLostBesideMinusInfinity) {
  for (const std::vector<float>& k : {std::vector<float>{kNaN, -kInf}, {-kInf, kNaN}, {kNaN, kNaN}}) {
    const auto result = Scalars{.q = {1}, .k = k, .v = {5, 9}}.attend();
    EXPECT_TRUE(std::isnan(result.out[0])) << k[0] << ", " << k[1];
    EXPECT_TRUE(std::isnan(result.lse[0])) << k[0] << ", " << k[1];
  }
}

TEST(Reference, BoundsStayFiniteBesideAKeyAtMinusInfinity) {
  Scalars problem{.q = {1}, .k = {-kInf, 2, 2}, .v = {5, 9, 10}};
  const auto result = problem.attend();
  const ForwardProblem shape{.kv_rows = 3};
  EXPECT_LT(reference::output_bound(shape, result, 0), 1e-4);
  EXPECT_LT(reference::lse_bound(result, 0), 1e-4);
}

}  // namespace
}  // namespace flashmoe::test::attention_test
