// SPDX-License-Identifier: MIT
// Attention on bf16 through the matrix instructions of Armv8.6 (BFMMLA).
#pragma once

#include "cpu/backward_task.h"

#if defined(__aarch64__) && defined(__linux__)
#define FLASHMOE_NEON_BF16 1
#endif

namespace flashmoe::cpu {

#ifdef FLASHMOE_NEON_BF16
bool neon_bf16_supported();             // by the CPU at hand
const Kernel& neon_bf16_kernel();       // packs K and V
const Kernel& neon_bf16_rows_kernel();  // reads them in place: for few query rows
const BackwardKernel& neon_bf16_backward_kernel();
#endif

}  // namespace flashmoe::cpu
