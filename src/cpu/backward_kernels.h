// SPDX-License-Identifier: MIT
// The kernels for gradients that there are, and what each of them knows of a row.
#pragma once

#include <limits>

#include "cpu/backward_task.h"

namespace flashmoe::cpu {

const BackwardKernel& portable_backward_kernel();

#ifdef FLASHMOE_HIGHWAY
const BackwardKernel& tiled_backward_kernel(DType dtype);
#endif

// The kernel for this problem on this machine.
const BackwardKernel& choose_backward_kernel(const ForwardProblem& problem);

struct RowStatistics {
  float lse;
  float dlse;

  bool sees_nothing() const { return lse == -std::numeric_limits<float>::infinity(); }
};

// Of packed row r.
inline RowStatistics row_statistics(const BackwardTask& task, int64_t r) {
  const int64_t group = task.problem->group();
  const int64_t at = r % group * task.problem->q_rows + r / group;
  return {task.lse[at], task.dlse == nullptr ? 0.0F : task.dlse[at]};
}

}  // namespace flashmoe::cpu
