// SPDX-License-Identifier: MIT
// Exchange of values between the lanes of a warp. All 32 lanes take part.
#pragma once

#include "primitives/platform.h"

#ifdef FLASHMOE_MODEL
#include "primitives/model/shuffle.h"
#else
namespace flashmoe::gpu::inline FLASHMOE_TARGET {

__device__ __forceinline__ float shuffle_xor(float value, int lane_mask) {
  return __shfl_xor_sync(0xFFFFFFFFU, value, lane_mask);
}
__device__ __forceinline__ float shuffle(float value, int lane) {
  return __shfl_sync(0xFFFFFFFFU, value, lane);
}
__device__ __forceinline__ bool any_lane(bool predicate) { return __any_sync(0xFFFFFFFFU, predicate); }

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#endif
