// SPDX-License-Identifier: MIT
// A transposed 8x8 matrix of 16-bit elements, from the lanes of a warp to the lanes of a warp.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/movmatrix.h"
#else
#include "primitives/ptx/movmatrix.h"
#endif
