// SPDX-License-Identifier: MIT
// The way out of a tile that begins before its tensor: TMA loads such tiles, but does not store them.
#pragma once

#include <cstdint>

#include "primitives/chunk.h"
#include "primitives/memory.h"

namespace flashmoe::kernels::inline FLASHMOE_TARGET {

// Of 64 rows in a slab as TMA swizzles it, those from row 0 of the tensor on: `to` is where the slab's first
// row would be, and has `columns` columns from there on, a multiple of 8. Caller: all 128 threads of a
// warpgroup, once the slab is written.
template <int kRowBytes, class T>
__device__ __forceinline__ void store_swizzled_rows(const unsigned char* slab, int first_row, T* to,
                                                    int64_t row_stride, int columns, int thread) {
  constexpr int kChunks = kRowBytes / 16;  // of a row, and rows until the swizzle repeats, in 128 bytes
  const int chunk = thread % kChunks;
  if (8 * chunk >= columns) return;
#pragma unroll 1
  for (int row = thread / kChunks; row < 64; row += 128 / kChunks) {
    if (first_row + row < 0) continue;
    const int place = chunk ^ row * kRowBytes / 128 % kChunks;
    const auto* from = reinterpret_cast<const gpu::Chunk*>(slab + row * kRowBytes + 16 * place);
    gpu::store_global(reinterpret_cast<gpu::Chunk*>(to + row * row_stride + 8 * chunk), *from);
  }
}

}  // namespace flashmoe::kernels::inline FLASHMOE_TARGET
