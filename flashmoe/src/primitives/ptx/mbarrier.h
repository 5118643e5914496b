// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// mbarrier.init: each phase completes after `arrivals` arrivals and all bytes that they announced. `barrier`
// is the shared address of 8 aligned bytes. Caller: one thread, once.
__device__ __forceinline__ void mbarrier_init(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// fence.mbarrier_init: makes this thread's inits visible to peers after the cluster's next barrier.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// mbarrier.arrive.expect_tx: one arrival that also announces `bytes` bytes of stores still to land. Only for
// barriers of the own block.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// mbarrier.arrive: one arrival; threads that wait for the phase see what this thread wrote before. Only for
// barriers of the own block.
__device__ __forceinline__ void mbarrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// mbarrier.try_wait.parity: whether the phase of this parity has completed; may return false after a time
// limit. If true, this thread sees what peers stored.
__device__ __forceinline__ bool mbarrier_try_wait_parity(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{\n"
      "  .reg .pred p;\n"
      "  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
      "  selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

// For barriers at which only the own block and its TMA loads arrive: no acquire at cluster scope, which would
// invalidate everything that the SM has cached.
__device__ __forceinline__ bool mbarrier_try_wait_parity_in_block(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{\n"
      "  .reg .pred p;\n"
      "  mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n"
      "  selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

// st.async: stores 16 bytes at `to` and reports them to `barrier` when they have landed. Both addresses come
// from mapa() for one block; `to` is a multiple of 16.
__device__ __forceinline__ void st_async_16(uint32_t to, const float (&value)[4], uint32_t barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
          to),
      "f"(value[0]), "f"(value[1]), "f"(value[2]), "f"(value[3]), "r"(barrier)
      : "memory");
}

// st.async of 8 bytes; `to` is a multiple of 8, and both addresses come from mapa() for one block.
__device__ __forceinline__ void st_async_8(uint32_t to, const float (&value)[2], uint32_t barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(to),
      "f"(value[0]), "f"(value[1]), "r"(barrier)
      : "memory");
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
