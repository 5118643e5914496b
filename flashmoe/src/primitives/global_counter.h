// SPDX-License-Identifier: MIT
// Global memory that blocks of a grid add to, and counters by which they take turns. Who waits must know that
// those it waits for have started: blocks that take their numbers from fetch_increment may wait for lower
// numbers.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/global_counter.h"
#else
#include "primitives/ptx/global_counter.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// Whether the counter has this value, or more: then what others did before they brought it there is seen.
__device__ __forceinline__ bool has_count(const int* counter, int value) {
  return load_acquire(counter) >= value;
}

// Until it has. Caller: one thread.
__device__ __forceinline__ void wait_for_count(const int* counter, int value) {
  while (!has_count(counter, value)) {
  }
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#endif
