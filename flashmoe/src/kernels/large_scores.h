// SPDX-License-Identifier: MIT
// Scores so large that fp32 is coarse around them.
//
// P = exp2(scale S - m) takes one fused multiply-add per score. Its product is exact, but m is rounded: m =
// round(scale max S). So at the maximum it leaves the rounding error of m, where 0 would be right. Below
// kLargeScore that error changes no 16-bit weight; far above it overflows. Where a row's m is large, products
// are rounded before m is subtracted: the maximum then meets itself, and no other product exceeds it.
#pragma once

#include <cmath>

#include "primitives/arithmetic.h"
#include "primitives/platform.h"

namespace flashmoe::kernels::inline FLASHMOE_TARGET {

inline constexpr float kLargeScore = 0x1p12F;  // in units of log2, as m

// True for -inf too: a row that has seen no key.
__device__ __forceinline__ bool is_large(float m) { return fabsf(m) >= kLargeScore; }

// What the fused step subtracts. 0 where m is large: SubtractFirst has been there. 0 while no key has been
// seen: weights become 0, not NaN.
__device__ __forceinline__ float fused_base(float m) { return fabsf(m) < kLargeScore ? m : 0.0F; }

// For the rare warp that holds a row with a large m: changes the row's scores so that the fused step, with
// fused_base(m), gives what an unfused one would. Leaves all other rows' scores exactly as they are.
class SubtractFirst {
 public:
  __device__ __forceinline__ SubtractFirst(float scale_log2e, float m) {
    const bool here = is_large(m) && m != -INFINITY;
    to_log2_ = here ? scale_log2e : 1.0F;
    m_ = here ? m : 0.0F;
    from_log2_ = here ? gpu::rcp(scale_log2e) : 1.0F;
  }
  __device__ __forceinline__ float operator()(float S) const {
    return (gpu::mul_rn(S, to_log2_) - m_) * from_log2_;
  }

 private:
  float to_log2_, m_, from_log2_;
};

}  // namespace flashmoe::kernels::inline FLASHMOE_TARGET
