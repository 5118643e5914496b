// SPDX-License-Identifier: MIT
// Rows from global memory into swizzled tiles of shared memory, 16 bytes at a time where addresses allow.
#pragma once

#include "kernels/ampere_forward/smem.h"
#include "numeric/half.h"
#include "primitives/cp_async.h"
#include "primitives/index.h"
#include "primitives/memory.h"
#include "primitives/registers.h"
#include "primitives/shared.h"

namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET {

// Where chunk `chunk` of row `row` lies in a tile.
template <class Spec>
__device__ __forceinline__ int chunk_at(int row, int chunk) {
  return row * Spec::chunks + (chunk ^ Spec::swizzle(row));
}

// Up to eight elements from any address; zeros behind `count`.
template <class T>
__device__ inline gpu::Chunk gather(const T* from, int count) {
  uint32_t word[4] = {};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (i < count) word[i / 2] |= static_cast<uint32_t>(gpu::load_global(from + i).bits) << 16 * (i % 2);
  }
  return {word[0], word[1], word[2], word[3]};
}

// Fills a tile of kRows rows. `row_pointer(r)` is the first element of row r < rows; the rest becomes zeros.
// Aligned: under way until the copy group that it belongs to has been waited for. Unaligned: done on return.
template <class Spec, int kRows, class RowPointer>
__device__ __forceinline__ void load_tile(gpu::Chunk* tile, int rows, int head_dim, RowPointer row_pointer) {
  constexpr int kColumns = Spec::swizzle_width;  // threads side by side read 128 (or 64) bytes of one row
  constexpr int kRowsAtOnce = Spec::threads / kColumns;
  static_assert(kRows % kRowsAtOnce == 0);
  const int thread = Spec::keeps_addresses ? gpu::thread_index() : gpu::opaque(gpu::thread_index());
  const int column = thread % kColumns;
  const int first_row = thread / kColumns;
  const uint32_t base = gpu::shared_address(tile);
#pragma unroll
  for (int i = 0; i < kRows / kRowsAtOnce; ++i) {
    const int row = first_row + i * kRowsAtOnce;
    const auto* from = row_pointer(row);  // of a row that does not exist nothing is read
#pragma unroll
    for (int j = 0; j < Spec::chunks / kColumns; ++j) {
      const int chunk = column + j * kColumns;
      const int left = row < rows ? head_dim - 8 * chunk : 0;
      if constexpr (Spec::aligned) {
        gpu::cp_async_16(base + 16 * chunk_at<Spec>(row, chunk), from + 8 * chunk, left > 0);
      } else {
        tile[chunk_at<Spec>(row, chunk)] = gather(from + 8 * chunk, left);
      }
    }
  }
}

}  // namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET
