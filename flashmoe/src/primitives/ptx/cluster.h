// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr int kMaxCluster =
    1;  // blocks; kernels for larger clusters have no body on this architecture
#else
inline constexpr int kMaxCluster = 8;
#endif

// Ends the kernel with an error, because its body was not compiled for the architecture it runs on.
__device__ __forceinline__ void refuse_architecture() { __trap(); }

// %cluster_ctarank: the block's index in its cluster.
__device__ __forceinline__ uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// barrier.cluster.arrive.relaxed: arrives without ordering memory, so later loads need not wait. Writes that
// peers must see need their own fence first. Caller: all threads of the block, warps converged; each must
// then call cluster_wait().
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

// barrier.cluster.wait.acquire: waits until all threads of all blocks of the cluster have arrived.
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// mapa: converts `address` in this block's shared memory to the address of the same location in block `rank`
// of the cluster.
__device__ __forceinline__ uint32_t mapa(uint32_t address, uint32_t rank) {
  uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
