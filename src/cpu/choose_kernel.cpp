// SPDX-License-Identifier: MIT
#include "cpu/amx_kernel.h"
#include "cpu/kernels.h"

namespace flashmoe::cpu {

// Up to so many packed rows, packing K and V costs more than it saves: the two kernels meet between 12 and 16
// rows (Neoverse-V1, 2048 keys of 128).
[[maybe_unused]] constexpr int64_t kMostRowsInPlace = 12;

const Kernel& choose_kernel(const ForwardProblem& problem) {
  if (problem.dtype == DType::bf16 && amx_bf16_kernel() != nullptr) return *amx_bf16_kernel();
#ifdef FLASHMOE_HIGHWAY
  const int64_t rows = problem.group() * problem.q_rows;
  return rows <= kMostRowsInPlace ? rows_kernel(problem.dtype) : tiled_kernel(problem.dtype);
#else
  return portable_kernel();
#endif
}

}  // namespace flashmoe::cpu
