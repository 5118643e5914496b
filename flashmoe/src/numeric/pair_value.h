// SPDX-License-Identifier: MIT
// One value of a PairTensor in host memory.
#pragma once

#include <cstdint>
#include <limits>

#include "flashmoe/attention.h"
#include "numeric/half.h"

namespace flashmoe {

inline int64_t element_bytes(PairType type) {
  return type == PairType::boolean ? 1 : type == PairType::fp32 ? 4 : 2;
}

// What element `at` adds to a score.
inline float pair_value(const PairTensor& t, int64_t at) {
  switch (t.type) {
    case PairType::fp32:
      return static_cast<const float*>(t.data)[at];
    case PairType::fp16:
      return to_float(static_cast<const fp16*>(t.data)[at]);
    case PairType::bf16:
      return to_float(static_cast<const bf16*>(t.data)[at]);
    case PairType::boolean:
      break;
  }
  const bool seen = static_cast<const unsigned char*>(t.data)[at] != 0;
  return seen ? 0.0F : -std::numeric_limits<float>::infinity();
}

}  // namespace flashmoe
