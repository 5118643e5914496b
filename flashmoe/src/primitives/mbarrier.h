// SPDX-License-Identifier: MIT
// Barriers in shared memory that count arrivals and bytes, and stores to other blocks of the cluster that
// count on them.
#pragma once

#include <cstdint>

#include "primitives/platform.h"

#ifdef FLASHMOE_MODEL
#include "primitives/model/mbarrier.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

inline void mbarrier_wait_in_block(uint32_t barrier, uint32_t parity,
                                   const model::Where& where = model::Where::current()) {
  mbarrier_wait(barrier, parity, where);
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#else
#include "primitives/ptx/mbarrier.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// Until the phase of parity `parity` has completed. The first phase has parity 0.
__device__ __forceinline__ void mbarrier_wait(uint32_t barrier, uint32_t parity) {
  while (!mbarrier_try_wait_parity(barrier, parity)) {
  }
}

// The same for barriers at which no other block of the cluster arrives.
__device__ __forceinline__ void mbarrier_wait_in_block(uint32_t barrier, uint32_t parity) {
  while (!mbarrier_try_wait_parity_in_block(barrier, parity)) {
  }
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#endif
