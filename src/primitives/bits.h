// SPDX-License-Identifier: MIT
// The 32 bits of a register, as one type or the other.
#pragma once

#include <bit>
#include <cstdint>

#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

__device__ __forceinline__ float as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
__device__ __forceinline__ uint32_t as_bits(float value) { return std::bit_cast<uint32_t>(value); }

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
