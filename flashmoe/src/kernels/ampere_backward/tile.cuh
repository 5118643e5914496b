// SPDX-License-Identifier: MIT
// Tiles of 16-bit rows in shared memory: where a column lies, what lanes tell ldmatrix, and how rows come and
// go.
#pragma once

#include "kernels/forward_params.h"
#include "primitives/chunk.h"
#include "primitives/cp_async.h"
#include "primitives/index.h"
#include "primitives/memory.h"
#include "primitives/shared.h"

namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET {

// Chunk c of row r lies at c ^ swizzle(r), so that 8 rows of one column touch all banks.
template <int kColumns>
struct Tile {
  static constexpr int chunks = kColumns / 8;  // of 16 bytes per row
  static constexpr int width = chunks < 8 ? chunks : 8;
  static constexpr int row_bytes = 2 * kColumns;

  static __device__ __forceinline__ int swizzle(int row) { return row / (8 / width) % width; }
  static __device__ __forceinline__ int chunk_at(int row, int chunk) {
    return row * chunks + (chunk ^ swizzle(row));
  }

  // Where in a tile this lane's row for ldmatrix begins, of 16 rows and 16 columns: one matrix below the
  // other first ...
  static __device__ __forceinline__ uint32_t down(int row, int column) {
    const int lane = gpu::lane_index();
    return 16 * chunk_at(row + lane % 16, column / 8 + lane / 16);
  }
  // ... or side by side first.
  static __device__ __forceinline__ uint32_t across(int row, int column) {
    const int lane = gpu::lane_index();
    return 16 * chunk_at(row + lane % 8 + lane / 16 * 8, column / 8 + lane / 8 % 2);
  }
  // 16 i columns further on, in a run of columns that is a power of two and begins at a multiple of its own
  // length. Rows that a lane names are swizzled alike, since they agree in row % 8.
  static __device__ __forceinline__ uint32_t at_columns(uint32_t offset, int i) {
    return (offset ^ (16 * (2 * i % width))) + 16 * (2 * i / width * width);
  }

  // The words of row `row` in which the lanes of a matrix instruction's accumulator have columns.
  static __device__ __forceinline__ uint32_t* words(gpu::Chunk* tile, int row, int chunk) {
    return reinterpret_cast<uint32_t*>(tile + chunk_at(row, chunk)) + gpu::lane_index() % 4;
  }
};

// Rows [first_row, first_row + kRows) of a head, on their way until the copy group that they belong to has
// been waited for. Zeros where there is no row or no column.
template <int kRows, int kColumns, int kThreads, class T>
__device__ __forceinline__ void load_rows(gpu::Chunk* tile, const View& view, int batch, int head,
                                          int first_row, int rows, int head_dim) {
  constexpr int kRowsAtOnce = kThreads / 8;  // threads side by side read 128 bytes of one row
  static_assert(kRows % kRowsAtOnce == 0);
  const int column = gpu::thread_index() % 8;
  const int in_tile = gpu::thread_index() / 8;
  const T* from = static_cast<const T*>(view.data) + batch * view.batch_stride + head * view.head_stride +
                  (first_row + in_tile) * view.row_stride + 8 * column;
  const uint32_t to = gpu::shared_address(tile) + 16 * Tile<kColumns>::chunk_at(in_tile, column);
#pragma unroll
  for (int i = 0; i < kRows / kRowsAtOnce; ++i) {
    const bool there = first_row + in_tile + i * kRowsAtOnce < rows;
#pragma unroll
    for (int j = 0; j < kColumns / 64; ++j) {
      gpu::cp_async_16(to + i * kRowsAtOnce * 2 * kColumns + 128 * j, from + 64 * j,
                       there && 8 * column + 64 * j < head_dim);
    }
    from += kRowsAtOnce * view.row_stride;
  }
}

template <int kRows, int kColumns, int kThreads, class T>
__device__ __forceinline__ void store_rows(const gpu::Chunk* tile, const View& view, int batch, int head,
                                           int first_row, int rows, int head_dim) {
  constexpr int kRowsAtOnce = kThreads / 8;
  const int column = gpu::thread_index() % 8;
  const int in_tile = gpu::thread_index() / 8;
  T* to = static_cast<T*>(view.data) + batch * view.batch_stride + head * view.head_stride +
          (first_row + in_tile) * view.row_stride + 8 * column;
#pragma unroll
  for (int i = 0; i < kRows / kRowsAtOnce; ++i) {
    const int row = in_tile + i * kRowsAtOnce;
#pragma unroll
    for (int j = 0; j < kColumns / 64; ++j) {
      if (first_row + row < rows && 8 * column + 64 * j < head_dim) {
        gpu::store_global(reinterpret_cast<gpu::Chunk*>(to + 64 * j),
                          tile[Tile<kColumns>::chunk_at(row, column + 8 * j)]);
      }
    }
    to += kRowsAtOnce * view.row_stride;
  }
}

}  // namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET
