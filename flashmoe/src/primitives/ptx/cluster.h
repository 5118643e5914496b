// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr int kMaxCluster =
    1;  // blocks; a kernel for larger clusters has no body on this architecture
#else
inline constexpr int kMaxCluster = 8;
#endif

// Ends the kernel with an error: it was started on an architecture that its body was not compiled for.
__device__ __forceinline__ void refuse_architecture() { __trap(); }

// %cluster_ctarank: this block's number in its cluster.
__device__ __forceinline__ uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// barrier.cluster.arrive.relaxed: orders nothing by itself, and so does not hold up the loads behind it. What
// must be seen by the peers needs a fence of its own before it. Caller: all threads of the block, warps
// converged; each then waits.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

// barrier.cluster.wait.acquire: until all threads of all blocks of the cluster have arrived.
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// mapa: the address by which this block reaches, in block `rank` of the cluster, what its own shared memory
// has at `address`.
__device__ __forceinline__ uint32_t mapa(uint32_t address, uint32_t rank) {
  uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
