// SPDX-License-Identifier: MIT
// The smaller and the larger of two numbers.
#pragma once

#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

__device__ __forceinline__ int min_of(int x, int y) { return x < y ? x : y; }
__device__ __forceinline__ int max_of(int x, int y) { return x > y ? x : y; }

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
