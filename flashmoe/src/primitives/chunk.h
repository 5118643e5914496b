// SPDX-License-Identifier: MIT
// 16 bytes, the most that one thread moves with one instruction: eight 16-bit elements.
#pragma once

#include <cstdint>

namespace flashmoe::gpu {

struct alignas(16) Chunk {
  uint32_t x, y, z, w;
};

struct alignas(8) HalfChunk {
  uint32_t x, y;
};

}  // namespace flashmoe::gpu
