// SPDX-License-Identifier: MIT
// A value whose origin the compiler may not look through: what is computed from it stays behind this point,
// instead of being worked out long before and kept in registers.
#pragma once

#include "primitives/platform.h"

#ifdef FLASHMOE_MODEL
namespace flashmoe::gpu::inline FLASHMOE_TARGET {

template <class T>
T opaque(T value) {
  return value;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#else
#include "primitives/ptx/opaque.h"
#endif
