// SPDX-License-Identifier: MIT
#include "cpu/amx_kernel.h"
#include "cpu/kernels.h"

namespace flashmoe::cpu {

const Kernel& choose_kernel(const ForwardProblem& problem) {
  if (problem.dtype == DType::bf16 && amx_bf16_kernel() != nullptr) return *amx_bf16_kernel();
#ifdef FLASHMOE_HIGHWAY
  return tiled_kernel(problem.dtype);
#else
  return portable_kernel();
#endif
}

}  // namespace flashmoe::cpu
