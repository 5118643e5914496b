// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// cp.async.cg (sm_80): copies 16 bytes from global memory to shared address `to`; if `there` is false, reads
// nothing and writes zeros. Both addresses are multiples of 16. Any thread. Takes a predicate, not a byte
// count, because for a byte count the compiler recomputes the address.
__device__ __forceinline__ void cp_async_16(uint32_t to, const void* from, bool there) {
  asm volatile(
      "{ .reg .pred absent; setp.eq.u32 absent, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, absent; }" ::
          "r"(to),
      "l"(from), "r"(static_cast<uint32_t>(there))
      : "memory");
}

// cp.async.commit_group: closes the group of copies that this thread has issued since the last commit.
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// cp.async.wait_group: waits until at most `kPending` of this thread's groups are in flight. Their data is
// then visible to this thread; other threads see it after a barrier.
template <int kPending>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
