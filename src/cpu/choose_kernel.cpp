// SPDX-License-Identifier: MIT
#include "cpu/kernels.h"

namespace flashmoe::cpu {

const Kernel& choose_kernel([[maybe_unused]] const ForwardProblem& problem) {
#ifdef FLASHMOE_HIGHWAY
  return tiled_kernel(problem.dtype);
#else
  return portable_kernel();
#endif
}

}  // namespace flashmoe::cpu
