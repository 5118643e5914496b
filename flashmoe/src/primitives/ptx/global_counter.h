// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// atom.add: adds 1 and gives what was there before. Orders nothing.
__device__ __forceinline__ int fetch_increment(int* counter) {
  int before;
  asm volatile("atom.add.relaxed.gpu.global.s32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
  return before;
}

// ld.acquire: what others did before they brought the counter to this value is seen behind it.
__device__ __forceinline__ int load_acquire(const int* counter) {
  int value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
}

// red.release: adds 1; what this thread did before is seen by those who read the sum with load_acquire.
__device__ __forceinline__ void increment_release(int* counter) {
  asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(counter) : "memory");
}

// red.add.f32: adds in one piece. Orders nothing.
__device__ __forceinline__ void add_global(float* to, float value) {
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(to), "f"(value) : "memory");
}

// red.add.v4.f32 (sm_90): adds to four floats, each in one piece; `to` is a multiple of 16 bytes. Orders
// nothing.
__device__ __forceinline__ void add_global(float* to, const float (&value)[4]) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(value[0]),
               "f"(value[1]), "f"(value[2]), "f"(value[3])
               : "memory");
}

// fence.proxy.async (sm_90): between this thread's ordinary accesses to memory and those of the copy engine
// on its behalf, in both directions. Where counters order what the copy engine adds, one lies on either side.
__device__ __forceinline__ void fence_proxy_async_global() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
