// SPDX-License-Identifier: MIT
// Eight query rows at a time: what small_forward and decode_forward know of a row, and tell their merges.
#pragma once

namespace flashmoe::kernels {

inline constexpr int kEightRows = 8;  // the width of one matrix instruction

struct alignas(16) Float4 {
  float x, y, z, w;
};

struct alignas(8) RowStats {
  float max;  // of the scores, in units of log2; -inf when the row sees no key
  float sum;  // of exp2(score - max)
};

// Packed row r is position r / group of head r % group.
struct QueryRow {
  int position, head;  // head within the group
  bool real;           // false past the last row
};

}  // namespace flashmoe::kernels
