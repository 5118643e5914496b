// SPDX-License-Identifier: MIT
// Contiguous bytes between global and shared memory, copied or added by the SM's copy engine (TMA).
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/bulk.h"
#else
#include "primitives/ptx/bulk.h"
#endif
