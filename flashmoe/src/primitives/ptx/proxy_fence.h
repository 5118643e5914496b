// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/platform.h"
#include "primitives/ptx/only_on_gpu.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// fence.proxy.async (sm_90): TMA stores and wgmmas issued after the next barrier see what this thread wrote
// to shared memory. Caller: every thread that wrote.
__device__ __forceinline__ void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
