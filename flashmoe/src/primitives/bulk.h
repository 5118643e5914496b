// SPDX-License-Identifier: MIT
// Runs of bytes between global and shared memory, moved or added by the copy engine of the SM.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/bulk.h"
#else
#include "primitives/ptx/bulk.h"
#endif
