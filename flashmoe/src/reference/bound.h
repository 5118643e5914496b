// SPDX-License-Identifier: MIT
// How much rounding error is allowed. A backend computes logits, exponentials and sums in fp32, in any order
// and tiling, may round the weights P to the input's type before P V (but sums them unrounded), and rounds
// the output once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "flashmoe/attention.h"

namespace flashmoe::reference {

inline constexpr double kUnit = 0x1p-24;  // unit roundoff of fp32

struct Precision {
  double exp;               // relative error of exp2: fp32 rounding, or the polynomial used for a 16-bit type
  double weights;           // unit roundoff of P as an operand of P V
  double weights_smallest;  // below this P is subnormal, and its absolute error no longer shrinks
  double output;            // unit roundoff of the stored type
  double output_smallest;   // half the spacing of its subnormals, or the largest one if they count as zero
  double tanh;              // relative error of tanh: a few roundings, or that of a GPU's tanh instruction

  static constexpr Precision of(DType dtype) {
    switch (dtype) {
      case DType::fp32:
        return {0x1p-22, 0x1p-24, 0x1p-126, 0x1p-24, 0x1p-150, 0x1p-20};
      case DType::fp16:
        return {0x1p-16, 0x1p-11, 0x1p-14, 0x1p-11, 0x1p-25, 0x1p-15};
      case DType::bf16:
        // Matrix instructions treat bf16 subnormals as zero.
        return {0x1p-16, 0x1p-8, 0x1p-126, 0x1p-8, 0x1p-126, 0x1p-15};
    }
    return {};
  }
};

// Rounding error of a sum of n fp32 terms, in units of kUnit times the sum of magnitudes. The worst case is
// n. Errors of a long sum are independent, each uniform in one unit of a partial sum that grows to its full
// size: their standard deviation is sqrt(n)/3, so 4 sqrt(n) is twelve standard deviations.
inline double sum_roundings(int64_t n) {
  const auto terms = static_cast<double>(n);
  return std::min(terms, 4 * std::sqrt(terms));
}

// Error of a logit per unit of its size: the sum's roundings and five more: scale * log2(e) (two), its
// product with q or with the sum (one), the products if they are not fused (one), the subtraction (one).
inline double logit_rounding(int64_t head_dim) { return kUnit * (sum_roundings(head_dim) + 5); }

// Absolute error of logit j, which is the relative error of its weight. `size` is |scale| sum_i |q_i k_ij|;
// `gap` is the distance to the row's largest logit, which is the argument of exp.
inline double logit_error(int64_t head_dim, DType dtype, double size, double gap) {
  return logit_rounding(head_dim) * (size + gap) + Precision::of(dtype).exp;
}

// Weights below this may be flushed to zero, or raised to this value by a clamp in exp2.
inline constexpr double kSmallestWeight = 0x1p-126;

}  // namespace flashmoe::reference
