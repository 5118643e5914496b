// SPDX-License-Identifier: MIT
// Tiles of a tensor between global and shared memory, moved by the Tensor Memory Accelerator (tensor maps:
// tensor_map.h), and the fence between ordinary accesses to shared memory and those of TMA and wgmma, which
// go through another proxy.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/proxy_fence.h"
#include "primitives/model/tma.h"
#else
#include "primitives/ptx/proxy_fence.h"
#include "primitives/ptx/tma.h"
#endif
