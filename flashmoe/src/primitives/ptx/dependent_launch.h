// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// griddepcontrol.wait (sm_90): waits until all earlier kernels of the stream have ended and their writes are
// visible. A kernel must not read those writes before it.
__device__ __forceinline__ void griddepcontrol_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// griddepcontrol.launch_dependents (sm_90): the next kernel may start when every block has called this or
// ended.
__device__ __forceinline__ void griddepcontrol_launch_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
