// SPDX-License-Identifier: MIT
// Which keys a query row sees, as kernels know it: one run of them, neither end of which ever falls from row
// to row.
#pragma once

#include <cstdint>

#include "primitives/target.h"

namespace flashmoe::kernels {

// Keys [begin, end).
struct alignas(8) Run {
  int begin, end;
};

// By rule: row i sees the keys from i + begin up to i + end, without the last, as far as there are any. Both
// numbers are at least -q_rows and at most kv_rows, so that no sum of one and a row leaves an int.
// dispatch/runs.h makes them of a problem.
struct Runs {
  int begin, end;

  // The twin of ForwardProblem::visible. Rows past the last one see what it sees.
  FLASHMOE_HD constexpr Run visible(int q_row, int q_rows, int kv_rows) const {
    const int row = q_row < q_rows ? q_row : q_rows - 1;
    return {cut(row + begin, kv_rows), cut(row + end, kv_rows)};
  }
  // Whether a row sees a key, where there are both.
  FLASHMOE_HD constexpr bool sees(int q_row, int key) const {
    const uint32_t from_first = static_cast<uint32_t>(key) - static_cast<uint32_t>(q_row + begin);
    return from_first < static_cast<uint32_t>(end) - static_cast<uint32_t>(begin);
  }

 private:
  static FLASHMOE_HD constexpr int cut(int key, int kv_rows) {
    return key < 0 ? 0 : key < kv_rows ? key : kv_rows;
  }
};

// What a lane keeps of one row of a matrix product, one bit per element: bit e stands for element e of the
// row, in column 8 (e / 2) + e % 2 counted from the lane's first one. A row has at most 32 of them.
FLASHMOE_HD constexpr uint32_t elements_before(int column) {
  if (column <= 0) return 0;
  const auto columns = static_cast<uint32_t>(column);
  const uint32_t elements = 2 * (columns / 8) + (columns % 8 < 2 ? columns % 8 : 2);
  return elements < 32 ? (1U << elements) - 1 : ~0U;
}

FLASHMOE_HD constexpr uint32_t elements_between(int begin, int end) {
  return elements_before(end) & ~elements_before(begin);
}

}  // namespace flashmoe::kernels
