// SPDX-License-Identifier: MIT
// Votes: one bit from every lane of the warp. All 32 lanes take part.
#pragma once

#include <cstdint>

#include "primitives/platform.h"

#ifdef FLASHMOE_MODEL
#include "primitives/model/vote.h"
#else
namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// Bit l of the result is the predicate of lane l.
__device__ __forceinline__ uint32_t ballot(bool predicate) { return __ballot_sync(0xFFFFFFFFU, predicate); }

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#endif
