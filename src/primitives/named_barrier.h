// SPDX-License-Identifier: MIT
// Barriers 1 to 15 of a block, each for as many of its warps as the kernel wants; number 0 is sync_block's.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/named_barrier.h"
#else
#include "primitives/ptx/named_barrier.h"
#endif
