// SPDX-License-Identifier: MIT
// The swizzle that TMA and wgmma apply to a shared address: bits 4 and up are XORed with bits 7 and
// up.
#pragma once

#include <cstdint>

#include "primitives/matrix_descriptor.h"

namespace flashmoe::model {

constexpr uint32_t swizzle_bytes(gpu::Swizzle swizzle) {
  switch (swizzle) {
    case gpu::Swizzle::bytes_128:
      return 128;
    case gpu::Swizzle::bytes_64:
      return 64;
    case gpu::Swizzle::bytes_32:
      return 32;
    case gpu::Swizzle::none:
      break;
  }
  return 16;
}

constexpr uint32_t swizzled(uint32_t address, gpu::Swizzle swizzle) {
  return address ^ ((address >> 7 & (swizzle_bytes(swizzle) / 16 - 1)) << 4);
}

static_assert(swizzled(0x80, gpu::Swizzle::bytes_128) == 0x90 &&
              swizzled(0x3F0, gpu::Swizzle::bytes_128) == 0x380);
static_assert(swizzled(0x180, gpu::Swizzle::bytes_64) == 0x1B0 &&
              swizzled(0x200, gpu::Swizzle::bytes_64) == 0x200);
static_assert(swizzled(0x80, gpu::Swizzle::bytes_32) == 0x90 && swizzled(0x80, gpu::Swizzle::none) == 0x80);

}  // namespace flashmoe::model
