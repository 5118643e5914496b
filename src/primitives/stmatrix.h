// SPDX-License-Identifier: MIT
// Fragments of 8x8 matrices of 16-bit elements, from the lanes of a warp to shared memory: the way back of
// ldmatrix.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/stmatrix.h"
#else
#include "primitives/ptx/stmatrix.h"
#endif
