// SPDX-License-Identifier: MIT
// The CPU kernels there are.
#pragma once

#include "cpu/task.h"

namespace flashmoe::cpu {

const Kernel& portable_kernel();

}  // namespace flashmoe::cpu
