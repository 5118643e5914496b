// SPDX-License-Identifier: MIT
// Matrix operations of one warp: load and store 8x8 matrices of 16-bit elements (ldmatrix, stmatrix),
// transpose them between lanes (movmatrix), and multiply-accumulate m16n8k16 with fp32 accumulators
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
