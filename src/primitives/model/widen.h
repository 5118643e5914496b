// SPDX-License-Identifier: MIT
// 16-bit elements to fp32, many at a time: fp16 by a table, since without an instruction for it the
// conversion costs more than the product that follows.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "numeric/half.h"

namespace flashmoe::model {

inline const float* fp16_values() {
  static const std::vector<float> values = [] {
    std::vector<float> all(65536);
    for (uint32_t bits = 0; bits < 65536; ++bits) all[bits] = to_float(fp16{static_cast<uint16_t>(bits)});
    return all;
  }();
  return values.data();
}

template <class T>
class Widen {
 public:
  float operator()(uint32_t bits) const {
    if constexpr (kTable) {
      return fp16_[bits & 0xFFFFU];
    } else {
      return to_float(T{static_cast<uint16_t>(bits)});
    }
  }
  // The low half to `to`, the high one behind it.
  void pair(uint32_t bits, float* to) const {
    to[0] = (*this)(bits);
    to[1] = (*this)(bits >> 16);
  }

 private:
  static constexpr bool kTable = std::is_same_v<T, fp16>;
  const float* fp16_ = kTable ? fp16_values() : nullptr;
};

}  // namespace flashmoe::model
