// SPDX-License-Identifier: MIT
// Matrix multiply-accumulate by a warpgroup (sm_90a): asynchronous m64nNk16 on 16-bit operands, with fp32
// accumulators. Descriptors (matrix_descriptor.h) locate operands in shared memory.
#pragma once

#include "primitives/matrix_descriptor.h"

#ifdef FLASHMOE_MODEL
#include "primitives/model/wgmma.h"
#else
#include "primitives/ptx/wgmma.h"
#endif
