// SPDX-License-Identifier: MIT
// Barriers in shared memory that count arrivals and bytes, and stores to other blocks of the cluster that
// count on them.
#pragma once

#include <cstdint>

#include "primitives/platform.h"

#ifdef FLASHMOE_MODEL
#include "primitives/model/mbarrier.h"
#else
#include "primitives/ptx/mbarrier.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// Until the phase of parity `parity` has completed. The first phase has parity 0.
__device__ __forceinline__ void mbarrier_wait(uint32_t barrier, uint32_t parity) {
  while (!mbarrier_try_wait_parity(barrier, parity)) {
  }
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#endif
