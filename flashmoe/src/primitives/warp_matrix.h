// SPDX-License-Identifier: MIT
// Matrices by one warp: 8x8 matrices of 16-bit elements from shared memory to lanes and back (ldmatrix,
// stmatrix), transposed among the lanes (movmatrix), and multiply-accumulate m16n8k16 with fp32 accumulators
// (mma).
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/ldmatrix.h"
#include "primitives/model/mma.h"
#include "primitives/model/movmatrix.h"
#include "primitives/model/stmatrix.h"
#else
#include "primitives/ptx/ldmatrix.h"
#include "primitives/ptx/mma.h"
#include "primitives/ptx/movmatrix.h"
#include "primitives/ptx/stmatrix.h"
#endif
