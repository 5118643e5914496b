// SPDX-License-Identifier: MIT
#include "cpu/kernels.h"
#include "cpu/neon_bf16.h"

namespace flashmoe::cpu {

const Kernel& choose_kernel([[maybe_unused]] const ForwardProblem& problem) {
#ifdef FLASHMOE_NEON_BF16
  if (problem.dtype == DType::bf16 && neon_bf16_supported()) return neon_bf16_kernel();
#endif
#ifdef FLASHMOE_HIGHWAY
  return tiled_kernel(problem.dtype);
#else
  return portable_kernel();
#endif
}

}  // namespace flashmoe::cpu
