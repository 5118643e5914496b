// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// ex2.approx.ftz.f32: 2^x to 2^-22 of its value; 0 for -inf and wherever the result would be subnormal.
__device__ __forceinline__ float ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
