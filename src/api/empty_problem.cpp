// SPDX-License-Identifier: MIT
#include "api/empty_problem.h"

#include <cstring>

namespace flashmoe {

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

std::string explain_empty() {
  return "nothing to compute: there are no rows or no keys\n  results: 0, and -inf for a log-sum-exp\n";
}

}  // namespace flashmoe
