// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// bar.sync: arrives at barrier `number` and waits until `threads` threads have. `threads` is a multiple of
// 32, equal for all. Makes earlier writes to shared memory visible. Caller: whole warps, converged.
__device__ __forceinline__ void named_barrier_sync(int number, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// bar.arrive: arrives at barrier `number` without waiting.
__device__ __forceinline__ void named_barrier_arrive(int number, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
