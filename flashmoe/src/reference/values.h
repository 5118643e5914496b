// SPDX-License-Identifier: MIT
// Elements of a tensor as float64, for any element type and strides.
#pragma once

#include <limits>
#include <vector>

#include "flashmoe/attention.h"
#include "numeric/half.h"

namespace flashmoe::reference {

inline double value(const Tensor& t, int64_t b, int64_t h, int64_t s, int64_t d) {
  const int64_t at = b * t.strides[0] + h * t.strides[1] + s * t.strides[2] + d;
  switch (t.dtype) {
    case DType::fp32:
      return static_cast<const float*>(t.data)[at];
    case DType::fp16:
      return to_float(static_cast<const fp16*>(t.data)[at]);
    case DType::bf16:
      return to_float(static_cast<const bf16*>(t.data)[at]);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// One head as dense [rows][head_dim].
inline std::vector<double> values(const Tensor& t, int64_t b, int64_t h) {
  std::vector<double> all;
  all.reserve(static_cast<std::size_t>(t.sizes[2] * t.sizes[3]));
  for (int64_t s = 0; s < t.sizes[2]; ++s)
    for (int64_t d = 0; d < t.sizes[3]; ++d) all.push_back(value(t, b, h, s, d));
  return all;
}

}  // namespace flashmoe::reference
