// SPDX-License-Identifier: MIT
// Division by a number that the host knows before the launch: a multiplication and a shift, where a GPU's own
// integer division takes some forty instructions, one after another.
#pragma once

#include <cstdint>

#include "primitives/target.h"

namespace flashmoe::kernels {

class Divisor {
 public:
  Divisor() = default;

  // value: at least 1.
  explicit constexpr Divisor(uint32_t value) : value_(value) {
    while (value > uint64_t{1} << shift_) ++shift_;
    multiplier_ =
        static_cast<uint32_t>(((uint64_t{1} << 32) * ((uint64_t{1} << shift_) - value)) / value + 1);
  }

  FLASHMOE_HD constexpr uint32_t value() const { return value_; }

  // x: below 2^31.
  FLASHMOE_HD constexpr uint32_t divide(uint32_t x) const {
    const auto high = static_cast<uint32_t>((uint64_t{x} * multiplier_) >> 32);
    return (high + x) >> shift_;
  }

 private:
  uint32_t value_, multiplier_;
  uint32_t shift_ = 0;
};

}  // namespace flashmoe::kernels
