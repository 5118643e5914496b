// SPDX-License-Identifier: MIT
// Between fp32 and the 16-bit types, one by one and packed in pairs.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/convert.h"
#else
#include "primitives/ptx/convert.h"
#endif
