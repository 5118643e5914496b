// SPDX-License-Identifier: MIT
#include "cpu/amx_kernel.h"
#include "cpu/kernels.h"
#include "cpu/neon_bf16.h"

namespace flashmoe::cpu {
namespace {

// Up to so many packed rows, packing K and V costs more than it saves: the two kernels meet between 12 and 16
// rows (Neoverse-V1, 2048 keys of 128).
[[maybe_unused]] constexpr int64_t kMostRowsInPlace = 12;

// Through matrix instructions, where this CPU has them; else null.
const Kernel* matrix_kernel(DType dtype) {
  if (dtype != DType::bf16) return nullptr;
#ifdef FLASHMOE_NEON_BF16
  if (neon_bf16_supported()) return &neon_bf16_kernel();
#endif
  return amx_bf16_kernel();
}

}  // namespace

const Kernel& choose_kernel(const ForwardProblem& problem) {
#ifdef FLASHMOE_HIGHWAY
  const int64_t rows = problem.group() * problem.q_rows;
  if (rows <= kMostRowsInPlace) return rows_kernel(problem.dtype);
#endif
  if (const Kernel* kernel = matrix_kernel(problem.dtype)) return *kernel;
#ifdef FLASHMOE_HIGHWAY
  return tiled_kernel(problem.dtype);
#else
  return portable_kernel();
#endif
}

}  // namespace flashmoe::cpu
