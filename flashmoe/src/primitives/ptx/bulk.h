// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// cp.async.bulk (sm_90): copies `bytes` bytes from global memory to shared address `to` and reports them to
// `barrier`, at which they were announced. All three are multiples of 16. Caller: one thread.
__device__ __forceinline__ void bulk_load(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

// cp.reduce.async.bulk.add.f32 (sm_90): adds `bytes` bytes of floats at shared address `from` to `to`, each
// float atomically, in any order. Multiples of 16. Writers of `from` must have passed fence_proxy_async() and
// a barrier. Caller: one thread, which then commits and waits as for TMA stores.
__device__ __forceinline__ void bulk_reduce_add(float* to, uint32_t from, uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to),
               "r"(from), "r"(bytes)
               : "memory");
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
