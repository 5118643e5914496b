// SPDX-License-Identifier: MIT
// The fast exponential, logarithm and reciprocal; and conversions between fp32 and the 16-bit types, one by
// one and packed in pairs.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/convert.h"
#include "primitives/model/math.h"
#else
#include "primitives/ptx/convert.h"
#include "primitives/ptx/math.h"
#endif
