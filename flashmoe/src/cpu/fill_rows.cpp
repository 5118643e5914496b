// SPDX-License-Identifier: MIT
#include "cpu/fill_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace flashmoe::cpu {

void fill_zero(const Tensor& t) {
  const int64_t element = element_bytes(t.dtype);
  for (int64_t b = 0; b < t.sizes[0]; ++b) {
    for (int64_t h = 0; h < t.sizes[1]; ++h) {
      for (int64_t s = 0; s < t.sizes[2]; ++s) {
        const int64_t at = b * t.strides[0] + h * t.strides[1] + s * t.strides[2];
        std::memset(static_cast<std::byte*>(t.data) + at * element, 0,
                    static_cast<std::size_t>(t.sizes[3] * element));
      }
    }
  }
}

void fill_lse(float* lse, const Tensor& q, const BatchRows& rows, const float* sinks) {
  if (lse == nullptr) return;
  for (int64_t h = 0; h < q.sizes[1]; ++h) {
    std::fill_n(lse + (rows.batch * q.sizes[1] + h) * q.sizes[2] + rows.rows.begin, rows.rows.size(),
                sinks == nullptr ? -std::numeric_limits<float>::infinity() : sinks[h]);
  }
}

}  // namespace flashmoe::cpu
