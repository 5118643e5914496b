// SPDX-License-Identifier: MIT
#pragma once

#include "numeric/half.h"
#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

template <class T>
float widen(T x) {
  return to_float(x);
}

template <class T>
T narrow(float x) {
  return from_float<T>(x);
}

template <class T>
uint32_t pack(float low, float high) {
  return from_float<T>(low).bits | static_cast<uint32_t>(from_float<T>(high).bits) << 16;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
