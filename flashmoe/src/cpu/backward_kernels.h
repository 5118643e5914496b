// SPDX-License-Identifier: MIT
// The kernels for gradients that there are, and what each of them knows of a row.
#pragma once

#include <algorithm>
#include <array>
#include <limits>

#include "cpu/backward_task.h"
#include "numeric/lse_log2.h"

namespace flashmoe::cpu {

const BackwardKernel& portable_backward_kernel();

#ifdef FLASHMOE_HIGHWAY
const BackwardKernel& tiled_backward_kernel(DType dtype);
#endif

// Those that take this problem on this machine, best first; null behind the last.
std::array<const BackwardKernel*, 4> backward_kernels(const ForwardProblem& problem);
inline const BackwardKernel& choose_backward_kernel(const ForwardProblem& problem) {
  return *backward_kernels(problem)[0];
}

struct RowStatistics {
  float lse;
  float dlse;

  // All of P is 0: see lse_log2.
  bool weighs_nothing() const { return lse_log2(lse) == std::numeric_limits<float>::infinity(); }
};

// Of packed row r.
inline RowStatistics row_statistics(const BackwardTask& task, int64_t r) {
  const int64_t group = task.problem->group();
  const int64_t at = r % group * task.lse_head_stride + r / group;
  return {task.lse[at], task.dlse == nullptr ? 0.0F : task.dlse[at]};
}

// What each row of a block sees of a block of keys: [begins[r], limits[r]). Neither ever falls from row to
// row, but that rows past the end see nothing. Only the first rows and the last may see nothing.
struct BlockRuns {
  int32_t* begins;
  int32_t* limits;

  // The rows [row, row + rows), and from there on to `padded` rows; the keys [key, key + keys).
  void find(const ForwardProblem& p, int64_t row, int64_t rows, int64_t padded, int64_t key,
            int64_t keys) const {
    for (int64_t r = 0; r < padded; ++r) {
      const Range seen = r < rows ? p.visible((row + r) / p.group()) : Range{};
      begins[r] = static_cast<int32_t>(std::clamp<int64_t>(seen.begin - key, 0, keys));
      limits[r] = static_cast<int32_t>(std::clamp<int64_t>(seen.end - key, 0, keys));
    }
  }

  BlockRuns from(int64_t r) const { return {begins + r, limits + r}; }
  Range seen_by_any(int64_t rows) const { return {begins[0], limits[rows - 1]}; }
  // Whether every row of [first, last] sees all of the keys [key, key + count).
  bool full(int64_t first, int64_t last, int64_t key, int64_t count) const {
    return begins[last] <= key && key + count <= limits[first];
  }
  // Those of the rows [0, rows) that see any of the keys [key, key + count).
  Range rows_that_see(int64_t rows, int64_t key, int64_t count) const {
    Range found{0, rows};
    const auto sees_none = [&](int64_t r) { return begins[r] >= limits[r]; };
    while (found.begin < rows && (limits[found.begin] <= key || sees_none(found.begin))) ++found.begin;
    while (found.end > found.begin && (begins[found.end - 1] >= key + count || sees_none(found.end - 1)))
      --found.end;
    return found;
  }
};

}  // namespace flashmoe::cpu
