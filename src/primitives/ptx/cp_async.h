// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// cp.async.cg (sm_80): 16 bytes to the shared address `to`, the first `bytes` of them (0 to 16) from global
// memory and zeros behind. Both addresses are multiples of 16; with 0 bytes `from` is not read. Any thread.
__device__ __forceinline__ void cp_async_16(uint32_t to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
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
