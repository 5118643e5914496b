// SPDX-License-Identifier: MIT
#include "reference/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/half.h"

namespace flashmoe::reference {
namespace {

double load(const Tensor& t, int64_t b, int64_t h, int64_t s, int64_t d) {
  const int64_t at = b * t.strides[0] + h * t.strides[1] + s * t.strides[2] + d;
  switch (t.dtype) {
    case DType::fp32: return static_cast<const float*>(t.data)[at];
    case DType::fp16: return to_float(static_cast<const fp16*>(t.data)[at]);
    case DType::bf16: return to_float(static_cast<const bf16*>(t.data)[at]);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

ForwardResult attention_forward(const ForwardProblem& p, const ForwardArgs& args) {
  const auto rows = static_cast<std::size_t>(p.batch * p.q_heads * p.q_rows);
  const auto dim = static_cast<std::size_t>(p.head_dim);
  ForwardResult result{.out = std::vector<double>(rows * dim, 0.0),
                       .lse = std::vector<double>(rows, -std::numeric_limits<double>::infinity()),
                       .weighted_abs_v = std::vector<double>(rows * dim, 0.0),
                       .logit_size = std::vector<double>(rows, 0.0)};
  std::vector<double> weight(static_cast<std::size_t>(p.kv_rows));
  std::size_t row = 0;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.q_heads; ++h) {
      const int64_t kv_head = h / p.group();
      for (int64_t i = 0; i < p.q_rows; ++i, ++row) {
        const int64_t keys = p.visible_keys(i);
        double largest = -std::numeric_limits<double>::infinity();
        for (int64_t j = 0; j < keys; ++j) {
          double logit = 0;
          double size = 0;
          for (int64_t d = 0; d < p.head_dim; ++d) {
            const double product = load(args.q, b, h, i, d) * load(args.k, b, kv_head, j, d);
            logit += product;
            size += std::abs(product);
          }
          weight[j] = p.scale * logit;
          // Written so that NaN is kept.
          if (!(weight[j] <= largest)) largest = weight[j];
          result.logit_size[row] = std::max(result.logit_size[row], std::abs(p.scale) * size);
        }
        if (largest == -std::numeric_limits<double>::infinity()) continue;  // sees nothing: 0 and -inf
        double sum = 0;
        for (int64_t j = 0; j < keys; ++j) sum += weight[j] = std::exp(weight[j] - largest);
        result.lse[row] = largest + std::log(sum);
        for (int64_t j = 0; j < keys; ++j) {
          for (std::size_t d = 0; d < dim; ++d) {
            const double v = load(args.v, b, kv_head, j, static_cast<int64_t>(d));
            result.out[row * dim + d] += weight[j] / sum * v;
            result.weighted_abs_v[row * dim + d] += weight[j] / sum * std::abs(v);
          }
        }
      }
    }
  }
  return result;
}

Precision Precision::of(DType dtype) {
  switch (dtype) {
    case DType::fp32: return {0x1p-24, 0x1p-24, 0x1p-150};
    case DType::fp16: return {0x1p-11, 0x1p-11, 0x1p-25};
    case DType::bf16: return {0x1p-8, 0x1p-8, 0x1p-134};
  }
  return {};
}

namespace {

constexpr double kUnit = 0x1p-24;  // unit roundoff of the fp32 sums
constexpr double kSafety = 6;      // standard deviations, roughly, of a sum of independent roundings

// Absolute error of one logit: a sum of D products, the scale and log2(e), and the argument of exp.
double logit_error(const ForwardProblem& p, const ForwardResult& expected, std::size_t row) {
  return kSafety * kUnit * (std::sqrt(static_cast<double>(p.head_dim)) + 3) * (expected.logit_size[row] + 1);
}

double sum_error(const ForwardProblem& p) { return kSafety * kUnit * (std::sqrt(static_cast<double>(p.kv_rows)) + 3); }

}  // namespace

double output_bound(const ForwardProblem& p, const ForwardResult& expected, std::size_t i) {
  const Precision unit = Precision::of(p.dtype);
  const std::size_t row = i / static_cast<std::size_t>(p.head_dim);
  const double of_weights = 2 * std::expm1(logit_error(p, expected, row)) + 2 * sum_error(p) + unit.weights;
  return of_weights * expected.weighted_abs_v[i] + unit.output * std::abs(expected.out[i]) + unit.output_smallest;
}

double lse_bound(const ForwardProblem& p, const ForwardResult& expected, std::size_t row) {
  return logit_error(p, expected, row) + sum_error(p) + 2 * kUnit * std::abs(expected.lse[row]);
}

}  // namespace flashmoe::reference
