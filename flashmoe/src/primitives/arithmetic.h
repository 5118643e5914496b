// SPDX-License-Identifier: MIT
// Fast exponential, logarithm and reciprocal, and conversions between fp32 and the 16-bit types: single
// values, or two packed into one register.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/convert.h"
#include "primitives/model/math.h"
#else
#include "primitives/ptx/convert.h"
#include "primitives/ptx/math.h"
#endif
