// SPDX-License-Identifier: MIT
// The steps of the AVX-512 kernel one by one, against double: on its instructions where the CPU has them.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "cpu/avx512_bf16.h"
#include "cpu/tiled.h"
#include "numeric/half.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma")
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#define FLASHMOE_AMX_VECTORS 1
#include "cpu/avx512_bf16-inl.h"
#pragma GCC pop_options
#else
#include "cpu/avx512_bf16-inl.h"
#endif

namespace flashmoe::test::bf16_avx512_test {
namespace {

using namespace cpu::avx512_bf16;

// One panel and one block of random numbers, packed and absorbed.
class Avx512Bf16Steps : public testing::TestWithParam<int64_t> {
 protected:
  static constexpr int64_t kKeys = 45;
  static constexpr int64_t kFullKeys = 20;
  static constexpr int64_t kRows = 27;

  struct Aligned {
    std::vector<std::byte> bytes;
    std::byte* data;
    explicit Aligned(int64_t size) : bytes(static_cast<std::size_t>(size) + 64, std::byte{0xFF}) {
      data = static_cast<std::byte*>(Workspace::in(bytes.data(), bytes.size()).data);
    }
  };

  void SetUp() override {
    if (FLASHMOE_AMX_VECTORS && cpu::avx512_bf16_kernel() == nullptr) GTEST_SKIP() << "needs AVX512-BF16";
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (auto* x : {&q_, &k_, &v_}) {
      x->resize(static_cast<std::size_t>(64 * dim()));
      for (bf16& e : *x) e = to_bf16(normal(random));
    }
    problem_ = {.q_rows = kRows, .kv_rows = kKeys, .head_dim = dim(), .dtype = DType::bf16, .scale = 0.25F};
    cpu::Task task{};
    task.problem = &problem_;
    task.q = q_.data();
    task.k = k_.data();
    task.v = v_.data();
    task.q_row_stride = task.k_row_stride = task.v_row_stride = dim();
    Ops::pack_q(task, 0, kRows, packed_q_.data);
    Ops::pack_k(task, 0, kKeys, packed_k_.data);
    EXPECT_TRUE(Ops::pack_v(task, 0, kKeys, packed_v_.data));
    for (int64_t r = 0; r < kPanelRows; ++r) {
      limits_[r] = static_cast<int32_t>(std::min(kKeys, kFullKeys + r));
      max_[r] = -kInfinity;
      sum_[r] = 0;
    }
    std::fill_n(reinterpret_cast<float*>(out_.data), Ops::out_floats(dim()), 0.0F);
    Ops::absorb(step());
  }

  static int64_t dim() { return GetParam(); }

  cpu::PanelStep step() {
    return {.task = nullptr,
            .key = 0,
            .q = packed_q_.data,
            .k = packed_k_.data,
            .v = packed_v_.data,
            .v_finite = true,
            .scale_log2e = 0.25F * cpu::kLog2E,
            .dim = dim(),
            .rows = kRows,
            .block_keys = kKeys,
            .first_key = 0,
            .keys = kKeys,
            .full_begin = 0,
            .full_end = kFullKeys,
            .begins = begins_,
            .limits = limits_,
            .weights = weights_.data,
            .out = reinterpret_cast<float*>(out_.data),
            .max = max_,
            .sum = sum_};
  }

  static double at(const std::vector<bf16>& x, int64_t row, int64_t d) {
    return to_float(x[static_cast<std::size_t>(row * dim() + d)]);
  }
  double score(int64_t row, int64_t key) const {
    double sum = 0;
    for (int64_t d = 0; d < dim(); ++d) sum += at(q_, row, d) * at(k_, key, d);
    return sum;
  }
  float stored_score(int64_t row, int64_t key) { return scores_of(step())[key * kPanelRows + row]; }
  float stored_weight(int64_t row, int64_t key) {
    return to_float(word_of(pairs_of(step()), key / 2 * kPanelRows + row, key % 2));
  }

  ForwardProblem problem_;
  std::vector<bf16> q_, k_, v_;
  Aligned packed_q_{Ops::q_panel_bytes(dim())}, packed_k_{Ops::k_block_bytes(dim(), kKeys)},
      packed_v_{Ops::v_block_bytes(dim(), kKeys)}, weights_{Ops::weights_bytes(kKeys)},
      out_{Ops::out_floats(dim()) * 4};
  int32_t begins_[kPanelRows] = {};
  int32_t limits_[kPanelRows];
  alignas(64) float max_[kPanelRows];
  alignas(64) float sum_[kPanelRows];
};

TEST_P(Avx512Bf16Steps, ScoresAreDotProductsOrHidden) {
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t key = 0; key < kKeys; ++key) {
      if (key < limits_[r]) {
        EXPECT_NEAR(stored_score(r, key), score(r, key), 1e-5 * static_cast<double>(dim()))
            << r << ", " << key;
      } else {
        EXPECT_EQ(stored_score(r, key), -kInfinity) << r << ", " << key;
      }
    }
  }
}

TEST_P(Avx512Bf16Steps, WeightsArePowersOfTwoAndTheirSumIsNotRoundedToBf16) {
  for (int64_t r = 0; r < kRows; ++r) {
    double sum = 0;
    for (int64_t key = 0; key < kKeys; ++key) {
      const double weight =
          key < limits_[r] ? std::exp2(double{0.25F * cpu::kLog2E} * stored_score(r, key) - max_[r]) : 0.0;
      EXPECT_NEAR(stored_weight(r, key), weight, weight / 256) << r << ", " << key;
      sum += weight;
    }
    EXPECT_NEAR(sum_[r], sum, 3e-6 * sum) << r;
  }
}

TEST_P(Avx512Bf16Steps, OutputIsTheWeightedSumOfV) {
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t d = 0; d < dim(); ++d) {
      double expected = 0;
      double size = 0;
      for (int64_t key = 0; key < limits_[r]; ++key) {
        expected += stored_weight(r, key) * at(v_, key, d);
        size += stored_weight(r, key) * std::abs(at(v_, key, d));
      }
      EXPECT_NEAR(step().out[d * kPanelRows + r], expected, 1e-5 * size + 1e-30) << r << ", " << d;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(HeadDims, Avx512Bf16Steps, testing::Values(1, 7, 64, 77));

}  // namespace
}  // namespace flashmoe::test::bf16_avx512_test
