// SPDX-License-Identifier: MIT
#include <cmath>

#include "cpu/amx_kernel.h"
#include "cpu/avx512_bf16.h"
#include "cpu/kernels.h"
#include "cpu/neon_bf16.h"
#include "cpu/store_row.h"

namespace flashmoe::cpu {
namespace {

// Up to so many packed rows, packing K and V costs more than it saves
// (flashmoe/docs/decisions/cpu-backend.md).
[[maybe_unused]] constexpr int64_t kMostRowsInPlace = 12;
[[maybe_unused]] constexpr int64_t kMostRowsInPlaceNeonBf16 = 8;

// The bf16 kernels multiply scores by the scale, and rely on -inf staying -inf. The others multiply Q by it.
// None of them changes pairs.
bool scales_scores(const ForwardProblem& problem) {
  return problem.dtype == DType::bf16 && std::isnormal(problem.scale * kLog2E) && !problem.changes_pairs();
}

}  // namespace

const Kernel& choose_kernel(const ForwardProblem& problem) {
  if (problem.spans.first_keys > 0) return portable_kernel();  // the others know one run of keys
  [[maybe_unused]] const int64_t rows = problem.group() * problem.q_rows;
#ifdef FLASHMOE_NEON_BF16
  if (scales_scores(problem) && neon_bf16_supported()) {
    return rows <= kMostRowsInPlaceNeonBf16 ? neon_bf16_rows_kernel() : neon_bf16_kernel();
  }
#endif
#ifdef FLASHMOE_HIGHWAY
  if (rows <= kMostRowsInPlace && !problem.changes_pairs()) return rows_kernel(problem.dtype);
#endif
  if (scales_scores(problem)) {
    if (const Kernel* kernel = amx_bf16_kernel()) return *kernel;
    if (const Kernel* kernel = avx512_bf16_kernel()) return *kernel;
  }
#ifdef FLASHMOE_HIGHWAY
  return tiled_kernel(problem.dtype);
#else
  return portable_kernel();
#endif
}

}  // namespace flashmoe::cpu
