// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// atom.add: adds 1 and returns the previous value. Orders no other memory access.
__device__ __forceinline__ int fetch_increment(int* counter) {
  int before;
  asm volatile("atom.add.relaxed.gpu.global.s32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
  return before;
}

// ld.acquire: after it, this thread sees what others wrote before the increment_release that it reads.
__device__ __forceinline__ int load_acquire(const int* counter) {
  int value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
}

// red.release: adds 1; threads that read the sum with load_acquire see what this thread wrote before.
__device__ __forceinline__ void increment_release(int* counter) {
  asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(counter) : "memory");
}

// red.add.f32: an atomic addition. Orders no other memory access.
__device__ __forceinline__ void add_global(float* to, float value) {
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(to), "f"(value) : "memory");
}

// red.add.v4.f32 (sm_90): adds to four floats, each atomically; `to` is aligned to 16 bytes. Orders no other
// memory access.
__device__ __forceinline__ void add_global(float* to, const float (&value)[4]) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(value[0]),
               "f"(value[1]), "f"(value[2]), "f"(value[3])
               : "memory");
}

// fence.proxy.async (sm_90): orders this thread's ordinary accesses and the copy engine's accesses on its
// behalf, in both directions. Counters that order the copy engine's additions need one before and one after.
__device__ __forceinline__ void fence_proxy_async_global() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
