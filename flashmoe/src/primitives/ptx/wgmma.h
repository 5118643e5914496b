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
// Caller: all 128 threads of a warpgroup (4 warps from a multiple of 4 on), converged. Thread t has, with w =
// t / 32 and l = t % 32, d[i] = row 16 w + l / 4 + 8 (i / 2 % 2), column 8 (i / 4) + 2 (l % 4) + i % 2.
// Neither d nor a may be touched until wgmma_wait says so; a wgmma_fence() lies between other code that wrote
// them and the first wgmma. Both operands in shared memory, along K or, with kAAcrossK or kBAcrossK, across.
template <class T, bool kBAcrossK, bool kAAcrossK = false, int kRegisters>
__device__ __forceinline__ void wgmma_ss(float (&d)[kRegisters], uint64_t a, uint64_t b, bool accumulate) {
  generated::Wgmma<T, 2 * kRegisters>::template ss<kAAcrossK, kBAcrossK>(d, a, b, accumulate);
}

// `a` in registers: a[0] = row 16 w + l / 4, columns 2 (l % 4) and the next; a[1] row + 8; a[2] columns + 8;
// a[3] both.
template <class T, bool kBAcrossK, int kRegisters>
__device__ __forceinline__ void wgmma_rs(float (&d)[kRegisters], const uint32_t (&a)[4], uint64_t b,
                                         bool accumulate) {
  generated::Wgmma<T, 2 * kRegisters>::template rs<kBAcrossK>(d, a, b, accumulate);
}

// wgmma.fence: registers that this warpgroup wrote before it are seen by the wgmmas behind it.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// wgmma.commit_group: closes the group of wgmmas since the last one.
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// wgmma.wait_group: until at most `kPending` groups are still under way. Groups end in order.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// No instruction: what the compiler knows of these registers ends here. Belongs before the fence and behind
// the wait, since the compiler does not see that wgmma writes later.
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
