// SPDX-License-Identifier: MIT
// The fast exponential, logarithm and reciprocal.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/math.h"
#else
#include "primitives/ptx/math.h"
#endif
