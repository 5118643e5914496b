// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "numeric/half.h"
#include "primitives/platform.h"
#include "primitives/ptx/generated/wgmma.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
inline constexpr bool kHasWgmma = false;  // a kernel that needs it has no body on this architecture
#else
inline constexpr bool kHasWgmma = true;
#endif

// wgmma.mma_async.m64nNk16, N = 2 kRegisters: d[64][N] = a[64][16] b[16][N] + (accumulate ? d : 0).
// Caller: all 128 threads of a warpgroup (4 warps from a multiple of 4 on), converged. Thread t holds, with w
// = t / 32 and l = t % 32, d[i] = row 16 w + l / 4 + 8 (i / 2 % 2), column 8 (i / 4) + 2 (l % 4) + i % 2. d
// and a must not be touched before wgmma_wait; call wgmma_fence() after other code wrote them. Both operands
// are in shared memory, along K unless kAAcrossK or kBAcrossK is set.
template <class T, bool kBAcrossK, bool kAAcrossK = false, int kRegisters>
__device__ __forceinline__ void wgmma_ss(float (&d)[kRegisters], uint64_t a, uint64_t b, bool accumulate) {
  generated::Wgmma<T, 2 * kRegisters>::template ss<kAAcrossK, kBAcrossK>(d, a, b, accumulate);
}

// With `a` in registers: a[0] = row 16 w + l / 4, columns 2 (l % 4) and the next; a[1] is 8 rows further,
// a[2] 8 columns further, a[3] both.
template <class T, bool kBAcrossK, int kRegisters>
__device__ __forceinline__ void wgmma_rs(float (&d)[kRegisters], const uint32_t (&a)[4], uint64_t b,
                                         bool accumulate) {
  generated::Wgmma<T, 2 * kRegisters>::template rs<kBAcrossK>(d, a, b, accumulate);
}

// wgmma.fence: later wgmmas see the registers that this warpgroup wrote before.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// wgmma.commit_group: closes the group of wgmmas since the last commit.
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// wgmma.wait_group: waits until at most `kPending` groups are in flight. Groups end in order.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Emits no instruction; makes the compiler forget what it knows of these registers. Needed before the fence
// and after the wait, since the compiler does not know that wgmma writes them later.
template <int kRegisters>
__device__ __forceinline__ void pin(float (&d)[kRegisters]) {
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

template <int kSteps>
__device__ __forceinline__ void pin(uint32_t (&a)[kSteps][4]) {
#pragma unroll
  for (int i = 0; i < 4 * kSteps; ++i) asm volatile("" : "+r"(a[i / 4][i % 4])::"memory");
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
