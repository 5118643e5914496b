// SPDX-License-Identifier: MIT
// Converts 16-bit elements to fp32, many at a time. fp16 uses a table on machines without a conversion
// instruction, since converting would take longer than the product that follows.
#pragma once

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <cstddef>
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
  // Writes the low half to to[0] and the high half to to[1].
  void pair(uint32_t bits, float* to) const {
    to[0] = (*this)(bits);
    to[1] = (*this)(bits >> 16);
  }
  // Converts `count` elements; `count` is a multiple of 4.
  void all(const uint16_t* from, float* to, std::size_t count) const {
#if defined(__aarch64__)
    if constexpr (kTable) {
      for (std::size_t i = 0; i < count; i += 4)
        vst1q_f32(to + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from + i))));
      return;
    }
#endif
    for (std::size_t i = 0; i < count; ++i) to[i] = (*this)(from[i]);
  }

 private:
  static constexpr bool kTable = std::is_same_v<T, fp16>;
  const float* fp16_ = kTable ? fp16_values() : nullptr;
};

}  // namespace flashmoe::model
