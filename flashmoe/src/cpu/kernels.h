// SPDX-License-Identifier: MIT
// The CPU kernels there are.
#pragma once

#include "cpu/task.h"

namespace flashmoe::cpu {

const Kernel& portable_kernel();

#ifdef FLASHMOE_HIGHWAY
const Kernel& tiled_kernel(DType dtype);
const Kernel& rows_kernel(DType dtype);
const char* simd_name();  // the instruction set that these were chosen for
#endif

// The kernel for this problem on this machine.
const Kernel& choose_kernel(const ForwardProblem& problem);

}  // namespace flashmoe::cpu
