// SPDX-License-Identifier: MIT
#include "cpu/kernels.h"
#include "cpu/neon_bf16.h"

namespace flashmoe::cpu {

// Up to so many packed rows, packing K and V costs more than it saves: the two kernels meet between 12 and 16
// rows (Neoverse-V1, 2048 keys of 128).
[[maybe_unused]] constexpr int64_t kMostRowsInPlace = 12;
[[maybe_unused]] constexpr int64_t kMostBf16RowsInPlace = 8;

const Kernel& choose_kernel([[maybe_unused]] const ForwardProblem& problem) {
#ifdef FLASHMOE_NEON_BF16
  if (problem.dtype == DType::bf16 && neon_bf16_supported()) {
    return problem.group() * problem.q_rows <= kMostBf16RowsInPlace ? neon_bf16_rows_kernel()
                                                                    : neon_bf16_kernel();
  }
#endif
#ifdef FLASHMOE_HIGHWAY
  const int64_t rows = problem.group() * problem.q_rows;
  return rows <= kMostRowsInPlace ? rows_kernel(problem.dtype) : tiled_kernel(problem.dtype);
#else
  return portable_kernel();
#endif
}

}  // namespace flashmoe::cpu
