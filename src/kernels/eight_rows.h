// SPDX-License-Identifier: MIT
// Eight query rows at a time: what small_forward and decode_forward keep in shared memory, and where.
#pragma once

#include "primitives/target.h"

namespace flashmoe::kernels {

inline constexpr int kEightRows = 8;  // the width of one matrix instruction

struct alignas(16) Float4 {
  float x, y, z, w;
};

struct alignas(8) RowStats {
  float max;  // of the scores, in units of log2; -inf when the row sees no key
  float sum;  // of exp2(score - max)
};

// Where chunk c of row r is kept, so that the eight lanes that read together touch all banks once.
// K is read as (row g, chunk t + 4 j): two rows at a time. V as (row 2 t, chunk g): one chunk column of four
// row pairs.
constexpr FLASHMOE_HD int k_place(int row, int chunk) { return chunk ^ ((row & 1) << 2); }
constexpr FLASHMOE_HD int v_place(int row, int chunk) { return chunk ^ (((row >> 1) & 3) << 1); }

}  // namespace flashmoe::kernels
