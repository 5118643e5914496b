// SPDX-License-Identifier: MIT
// The bf16 kernel for x86_64 cores that have AVX512-BF16 but no AMX tiles (Zen 4, Cooper Lake).
#pragma once

#include "cpu/task.h"

namespace flashmoe::cpu {

// Null where this build, processor or operating system lacks what it needs.
const Kernel* avx512_bf16_kernel();

}  // namespace flashmoe::cpu
