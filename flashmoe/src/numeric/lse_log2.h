// SPDX-License-Identifier: MIT
// The log-sum-exp of a row as gradients take it.
#pragma once

#include <limits>

namespace flashmoe {

// In units of log2. +inf, and so P = exp2(score - LSE) = 0, for a row that saw no key, and for one whose LSE
// is so large that neighbouring fp32 values are 2 apart: it no longer tells what the row's weights were, and
// P, which is at most 1, might overflow. NaN stays NaN.
constexpr float lse_log2(float lse) {
  constexpr float kLargest = 0x1p24F;
  const float x = lse * 1.4426950408889634F;
  return x >= kLargest || x <= -kLargest ? std::numeric_limits<float>::infinity() : x;
}

}  // namespace flashmoe
