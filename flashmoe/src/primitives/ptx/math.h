// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// ex2.approx.ftz.f32: 2^x to 2^-22 of its value; 0 for -inf and wherever the result would be subnormal.
__device__ __forceinline__ float ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// lg2.approx.ftz.f32: log2(x) to 2^-22 of its value, or absolutely near 1; -inf for 0.
__device__ __forceinline__ float lg2(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// tanh.approx.f32: tanh(x) to 2^-11 of its value as documented; 2^-15 on what it was tried on
// (gpu/tanh_test).
__device__ __forceinline__ float tanh(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// mul.rn.f32: a product that is rounded, whatever is added to it.
__device__ __forceinline__ float mul_rn(float a, float b) { return __fmul_rn(a, b); }

// rcp.approx.ftz.f32: 1 / x to 1 ulp.
__device__ __forceinline__ float rcp(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
