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
  const int64_t at = r % group * task.problem->q_rows + r / group;
  return {task.lse[at], task.dlse == nullptr ? 0.0F : task.dlse[at]};
}

// How many of the keys [key, key + keys) each of the rows [row, row + rows) sees, which never falls from row
// to row; 0 from there on to `padded` rows.
inline void find_limits(const ForwardProblem& p, int64_t row, int64_t rows, int64_t padded, int64_t key,
                        int64_t keys, int32_t* limits) {
  for (int64_t r = 0; r < padded; ++r) {
    const int64_t seen = r < rows ? p.visible_keys((row + r) / p.group()) - key : 0;
    limits[r] = static_cast<int32_t>(std::clamp<int64_t>(seen, 0, keys));
  }
}

}  // namespace flashmoe::cpu
