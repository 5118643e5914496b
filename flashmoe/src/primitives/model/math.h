// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <limits>

#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

inline float ex2(float x) {
  const float y = std::exp2(x);
  return y < std::numeric_limits<float>::min() ? 0.0F : y;  // flushes subnormals, like ex2.approx.ftz
}

inline float lg2(float x) { return std::log2(x); }
inline float tanh(float x) { return std::tanh(x); }
inline float mul_rn(float a, float b) {
  const volatile float product = a * b;  // volatile, so that the compiler can't fuse it into an FMA
  return product;
}
inline float rcp(float x) { return 1.0F / x; }

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
