// SPDX-License-Identifier: MIT
// Matrix multiply-accumulate by one warp: m16n8k16, 16-bit operands, fp32 accumulators.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/mma.h"
#else
#include "primitives/ptx/mma.h"
#endif
