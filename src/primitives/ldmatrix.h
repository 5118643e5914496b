// SPDX-License-Identifier: MIT
// Fragments of 8x8 matrices of 16-bit elements, from shared memory to the lanes of a warp.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/ldmatrix.h"
#else
#include "primitives/ptx/ldmatrix.h"
#endif
