// SPDX-License-Identifier: MIT
// Between ordinary accesses to shared memory and those of TMA and wgmma, which go another way.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/proxy_fence.h"
#else
#include "primitives/ptx/proxy_fence.h"
#endif
