// SPDX-License-Identifier: MIT
// Loads and stores of global memory, one element or one Chunk at a time. Kernels use these two functions so
// that the model can check every address.
#pragma once

#include "primitives/chunk.h"
#include "primitives/platform.h"

#ifdef FLASHMOE_MODEL
#include "primitives/model/memory.h"
#else
namespace flashmoe::gpu::inline FLASHMOE_TARGET {

template <class T>
__device__ __forceinline__ T load_global(const T* from) {
  return *from;
}

template <class T>
__device__ __forceinline__ void store_global(T* to, T value) {
  *to = value;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#endif
