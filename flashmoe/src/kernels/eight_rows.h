// SPDX-License-Identifier: MIT
// Eight query rows at a time: what small_forward and decode_forward know of a row, and tell their merges.
#pragma once

#include "kernels/row_stats.h"

namespace flashmoe::kernels {

inline constexpr int kEightRows = 8;  // the width of one matrix instruction

struct alignas(16) Float4 {
  float x, y, z, w;
};

// Packed row r is position r / group of head r % group.
struct QueryRow {
  int position, head;  // head within the group
  bool real;           // false past the last row
};

}  // namespace flashmoe::kernels
