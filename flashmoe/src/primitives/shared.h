// SPDX-License-Identifier: MIT
// A block's shared memory as one struct per kernel: `auto& smem = shared<Smem<Spec>>();`
#pragma once

#include <cstdint>

#include "primitives/platform.h"

#ifdef FLASHMOE_MODEL
#include "primitives/model/shared.h"
#else
namespace flashmoe::gpu::inline FLASHMOE_TARGET {

template <class Layout>
__device__ __forceinline__ Layout& shared() {
  extern __shared__ __align__(1024) unsigned char dynamic_shared[];
  return *reinterpret_cast<Layout*>(dynamic_shared);
}

// The 32-bit shared-memory address that instructions take.
__device__ __forceinline__ uint32_t shared_address(const void* place) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(place));
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#endif
