// SPDX-License-Identifier: MIT
// Tiles of a tensor between global and shared memory, moved by the Tensor Memory Accelerator (TMA); and the
// fence that orders ordinary accesses to shared memory against those of TMA and wgmma, which use another
// proxy. tensor_map.h describes the tensor.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/proxy_fence.h"
#include "primitives/model/tma.h"
#else
#include "primitives/ptx/proxy_fence.h"
#include "primitives/ptx/tma.h"
#endif
