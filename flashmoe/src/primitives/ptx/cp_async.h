// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// cp.async.cg (sm_80): 16 bytes from global memory to the shared address `to`; zeros, and nothing is read,
// where they are not there. Both addresses are multiples of 16. Any thread. A predicate and not a number of
// bytes, for which the compiler would work out the address anew.
__device__ __forceinline__ void cp_async_16(uint32_t to, const void* from, bool there) {
  asm volatile(
      "{ .reg .pred absent; setp.eq.u32 absent, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, absent; }" ::
          "r"(to),
      "l"(from), "r"(static_cast<uint32_t>(there))
      : "memory");
}

// cp.async.commit_group: closes the group of copies that this thread has issued since the last one.
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// cp.async.wait_group: until at most `kPending` of this thread's groups are still under way. What they
// brought is then visible to this thread; others need a barrier behind it.
template <int kPending>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
