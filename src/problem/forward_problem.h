// SPDX-License-Identifier: MIT
// What is to be computed, without pointers: shapes, type, mask and scale. All planning is a function of this.
#pragma once

#include <algorithm>
#include <cstdint>

#include "flashmoe/attention.h"

namespace flashmoe {

inline constexpr int64_t kMaxHeadDim = 256;  // of every backend

struct ForwardProblem {
  int64_t batch = 1;
  int64_t q_heads = 1;
  int64_t kv_heads = 1;
  int64_t q_rows = 1;    // Sq
  int64_t kv_rows = 1;   // Skv
  int64_t head_dim = 1;  // D
  DType dtype = DType::fp32;
  Mask mask = Mask::none;
  float scale = 1.0F;

  // Query heads that share one K/V head; 1 where there are no heads.
  int64_t group() const { return kv_heads == 0 ? 1 : q_heads / kv_heads; }

  // Keys [0, visible_keys(i)) are seen by query row i.
  int64_t visible_keys(int64_t q_row) const {
    switch (mask) {
      case Mask::none:
        return kv_rows;
      case Mask::causal:
        return std::clamp<int64_t>(q_row + 1 + kv_rows - q_rows, 0, kv_rows);
      case Mask::causal_top_left:
        return std::min(q_row + 1, kv_rows);
    }
    return 0;
  }
};

inline int64_t element_bytes(DType dtype) { return dtype == DType::fp32 ? 4 : 2; }
inline const char* name_of(DType dtype) {
  return dtype == DType::fp32 ? "fp32" : dtype == DType::fp16 ? "fp16" : "bf16";
}
inline const char* name_of(Mask mask) {
  return mask == Mask::none ? "none" : mask == Mask::causal ? "causal" : "causal_top_left";
}

}  // namespace flashmoe
