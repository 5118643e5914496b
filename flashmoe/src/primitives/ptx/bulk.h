// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// cp.async.bulk (sm_90): `bytes` from global memory to the shared address `to`; they count for `barrier`,
// which has been told of them. Everything is a multiple of 16. Caller: one thread.
__device__ __forceinline__ void bulk_load(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

// cp.reduce.async.bulk.add.f32 (sm_90): adds `bytes` of floats at the shared address `from` to those in
// global memory, each in one piece, in any order. Multiples of 16. Those who wrote `from` have passed
// fence_proxy_async() and a barrier. Caller: one thread, which then commits and waits as for a TMA store.
__device__ __forceinline__ void bulk_reduce_add(float* to, uint32_t from, uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to),
               "r"(from), "r"(bytes)
               : "memory");
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
