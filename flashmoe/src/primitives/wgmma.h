// SPDX-License-Identifier: MIT
// Matrix multiply-accumulate by a warpgroup (sm_90a): m64nNk16, 16-bit operands, fp32 accumulators,
// asynchronous. Operands in shared memory are named by descriptors (matrix_descriptor.h).
#pragma once

#include "primitives/matrix_descriptor.h"

#ifdef FLASHMOE_MODEL
#include "primitives/model/wgmma.h"
#else
#include "primitives/ptx/wgmma.h"
#endif
