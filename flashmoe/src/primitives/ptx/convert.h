// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "numeric/half.h"
#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

__device__ __forceinline__ float widen(float x) { return x; }

// cvt.f32.f16. The conversion is exact.
__device__ __forceinline__ float widen(fp16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}

// A bf16 is the upper half of an fp32, so the conversion is exact.
__device__ __forceinline__ float widen(bf16 x) {
  return __uint_as_float(static_cast<uint32_t>(x.bits) << 16);
}

// Rounds to nearest even.
template <class T>
__device__ __forceinline__ T narrow(float x);

template <>
__device__ __forceinline__ float narrow<float>(float x) {
  return x;
}

// cvt.rn.f16.f32
template <>
__device__ __forceinline__ fp16 narrow<fp16>(float x) {
  fp16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}

// cvt.rn.bf16.f32 (sm_80)
template <>
__device__ __forceinline__ bf16 narrow<bf16>(float x) {
  bf16 y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}

// Packs two elements into a register, `low` (lower address or column) in its low half. To nearest even.
template <class T>
__device__ __forceinline__ uint32_t pack(float low, float high);

// cvt.rn.f16x2.f32
template <>
__device__ __forceinline__ uint32_t pack<fp16>(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// cvt.rn.bf16x2.f32 (sm_80)
template <>
__device__ __forceinline__ uint32_t pack<bf16>(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
