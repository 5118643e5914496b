// SPDX-License-Identifier: MIT
// What every lane of the warp says, in one word. All 32 lanes take part.
#pragma once

#include <cstdint>

#include "primitives/platform.h"

#ifdef FLASHMOE_MODEL
#include "primitives/model/vote.h"
#else
namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// Bit l: lane l's.
__device__ __forceinline__ uint32_t ballot(bool predicate) { return __ballot_sync(0xFFFFFFFFU, predicate); }

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#endif
