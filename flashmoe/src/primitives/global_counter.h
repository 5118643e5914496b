// SPDX-License-Identifier: MIT
// Atomic additions to global memory, and counters in it by which blocks of a grid wait for each other. A
// block may wait only for blocks that have surely started, or the kernel deadlocks: if blocks number
// themselves with fetch_increment, each may wait for lower numbers.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/global_counter.h"
#else
#include "primitives/ptx/global_counter.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// Whether the counter is at least `value`; if so, writes made before those increments are visible here.
__device__ __forceinline__ bool has_count(const int* counter, int value) {
  return load_acquire(counter) >= value;
}

// Waits until the counter is at least `value`. Caller: one thread.
__device__ __forceinline__ void wait_for_count(const int* counter, int value) {
  while (!has_count(counter, value)) {
  }
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#endif
