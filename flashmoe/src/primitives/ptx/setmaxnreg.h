// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// setmaxnreg.dec (sm_90a): this warpgroup keeps kRegisters per thread (a multiple of 8, 24 to 256) and
// returns the others to the block's pool. The kernel's launch bounds must require at least one block per SM.
// Caller: all 4 warps, converged.
template <int kRegisters>
__device__ __forceinline__ void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// setmaxnreg.inc: waits until the pool can raise this warpgroup to kRegisters per thread.
template <int kRegisters>
__device__ __forceinline__ void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
