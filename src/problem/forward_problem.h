// SPDX-License-Identifier: MIT
// What is to be computed, without pointers: shapes, type, mask and scale. All planning is a function of this.
#pragma once

#include <algorithm>
#include <cstdint>

#include "flashmoe/attention.h"

namespace flashmoe {

inline constexpr int64_t kMaxHeadDim = 256;  // of every backend

// Keys, rows or steps [begin, end).
struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

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
  Window window{};

  // Query heads that share one K/V head; 1 where there are no heads.
  int64_t group() const { return kv_heads == 0 ? 1 : q_heads / kv_heads; }

  // The key that stands where query row 0 does; there need not be one.
  int64_t first_position() const { return mask == Mask::causal_top_left ? 0 : kv_rows - q_rows; }
  int64_t keys_behind() const {
    return mask == Mask::none ? window.right : std::min<int64_t>(window.right, 0);
  }

  // What query row i sees. Neither end ever falls from row to row.
  Range visible(int64_t q_row) const {
    const int64_t position = q_row + first_position();
    // Compared so that nothing overflows, whatever the window is.
    const int64_t begin = window.left >= position ? 0 : std::min(position - window.left, kv_rows);
    const int64_t behind = keys_behind();
    const int64_t end = behind >= kv_rows - position ? kv_rows : std::max<int64_t>(position + behind + 1, 0);
    return {begin, end};
  }
  Range visible_to_any() const { return {visible(0).begin, visible(q_rows - 1).end}; }
  // Every row sees every key.
  bool sees_all() const { return visible(q_rows - 1).begin == 0 && visible(0).end == kv_rows; }
  // Some row does not see the first keys.
  bool hides_first_keys() const { return visible(q_rows - 1).begin > 0; }

  // The same with no window where none is needed: one that is as wide as the keys, or a causal mask in other
  // words.
  ForwardProblem simplified() const {
    ForwardProblem p = *this;
    if (!hides_first_keys()) p.window.left = Window::kUnlimited;
    if (mask == Mask::none && window.right == 0) p.mask = Mask::causal;
    if (p.mask != Mask::none || visible(0).end == kv_rows) p.window.right = Window::kUnlimited;
    return p;
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
