// SPDX-License-Identifier: MIT
// Barriers in shared memory that count arrivals and bytes, and stores to other blocks of the cluster whose
// arrival those barriers count.
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

// Waits until the phase of parity `parity` has completed. The first phase has parity 0.
__device__ __forceinline__ void mbarrier_wait(uint32_t barrier, uint32_t parity) {
  while (!mbarrier_try_wait_parity(barrier, parity)) {
  }
}

// For barriers at which no other block of the cluster arrives; cheaper (ptx/mbarrier.h says why).
__device__ __forceinline__ void mbarrier_wait_in_block(uint32_t barrier, uint32_t parity) {
  while (!mbarrier_try_wait_parity_in_block(barrier, parity)) {
  }
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#endif
