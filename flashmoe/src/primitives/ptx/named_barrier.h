// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// bar.sync: arrives, and waits until `threads` have arrived at barrier `number`, a multiple of 32 that all of
// them agree on. What they wrote to shared memory before is then seen. Caller: whole warps, converged.
__device__ __forceinline__ void named_barrier_sync(int number, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// bar.arrive: arrives and goes on.
__device__ __forceinline__ void named_barrier_arrive(int number, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
