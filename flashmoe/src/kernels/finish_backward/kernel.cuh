// SPDX-License-Identifier: MIT
// finish_backward: dq = scale times its sums, rounded.
// Bound: memory. Reads 4 bytes per element and writes 2. Roles: one block per piece of 64 rows and 64
// columns; a thread has 8 columns of two rows.
#pragma once

#include "kernels/backward_params.h"
#include "kernels/eight_rows.h"
#include "kernels/find_padded_row.h"
#include "numeric/half.h"
#include "primitives/arithmetic.h"
#include "primitives/control.h"
#include "primitives/index.h"
#include "primitives/memory.h"

namespace flashmoe::kernels::finish_backward::inline FLASHMOE_TARGET {

inline constexpr int kThreads = 256;

// Where the first row of a piece goes, and how many rows there are: none below 0 or from `rows` on.
struct Rows {
  int batch, head;
  int first, rows;
};

// kByElement: as BackwardParams::sums_by_element. find: from a head of all and the first padded row of a
// piece to where it goes.
template <class T, bool kByElement, class Find>
__device__ __forceinline__ void finish_piece(const BackwardParams& p, const Find& find) {
  gpu::griddepcontrol_wait();
  const int pieces_across = p.padded_dim / kDqPieceColumns;
  const int pieces_down = p.padded_rows / kDqPieceRows;
  const auto piece = static_cast<int64_t>(gpu::block_index());
  const int64_t row_of_pieces = piece / pieces_across;
  const auto head = static_cast<int>(row_of_pieces / pieces_down);
  const auto down = static_cast<int>(row_of_pieces - int64_t{head} * pieces_down);
  const auto across = static_cast<int>(piece - row_of_pieces * pieces_across);

  // Threads of a warp of the main kernel have rows l / 4 and + 8 of 16, columns 2 (l % 4) and the next.
  const int group = gpu::thread_index() % 8;  // of 8 columns
  const int in_eight = gpu::thread_index() / 8 % 8;
  const int warp = gpu::thread_index() / 64;
  const int column = kDqPieceColumns * across + 8 * group;
  const Rows own = find(head, kDqPieceRows * down);
  const int first_row = own.first + 16 * warp + in_eight;
  if (column >= p.head_dim || first_row >= own.rows || first_row + 8 < 0) return;
  uint32_t word[2][4];
  if constexpr (kByElement) {
    const float* from = p.dq_sums + piece * kDqPieceFloats + 4 * (128 * group + 32 * warp + in_eight);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const auto even = gpu::load_global(reinterpret_cast<const Float4*>(from + 64 * r));
      const auto odd = gpu::load_global(reinterpret_cast<const Float4*>(from + 64 * r + 32));
      word[r][0] = gpu::pack<T>(even.x * p.scale, odd.x * p.scale);
      word[r][1] = gpu::pack<T>(even.y * p.scale, odd.y * p.scale);
      word[r][2] = gpu::pack<T>(even.z * p.scale, odd.z * p.scale);
      word[r][3] = gpu::pack<T>(even.w * p.scale, odd.w * p.scale);
    }
  } else {
    const float* from = p.dq_sums + piece * kDqPieceFloats + 4 * (128 * group + 32 * warp + 4 * in_eight);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const auto sums = gpu::load_global(reinterpret_cast<const Float4*>(from + 4 * i));
      word[0][i] = gpu::pack<T>(sums.x * p.scale, sums.y * p.scale);
      word[1][i] = gpu::pack<T>(sums.z * p.scale, sums.w * p.scale);
    }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first_row + 8 * r;
    if (static_cast<uint32_t>(row) >= static_cast<uint32_t>(own.rows)) continue;
    T* to = static_cast<T*>(p.dq.data) + own.batch * p.dq.batch_stride + own.head * p.dq.head_stride +
            row * p.dq.row_stride + column;
    gpu::store_global(reinterpret_cast<gpu::Chunk*>(to),
                      gpu::Chunk{word[r][0], word[r][1], word[r][2], word[r][3]});
  }
}

template <class T, bool kByElement>
__global__ void __launch_bounds__(kThreads) finish_backward(const __grid_constant__ BackwardParams p) {
  finish_piece<T, kByElement>(p, [&](int head, int padded_row) {
    const int batch = head / p.q_heads;
    return Rows{batch, head - batch * p.q_heads, padded_row, p.q_rows};
  });
}

// The same for sequences of different lengths; p.batch is 1. A piece has rows of one of them: both begin at
// multiples of its rows.
template <class T, bool kByElement>
__global__ void __launch_bounds__(kThreads)
    finish_sequences(const __grid_constant__ BackwardParams p,
                     const __grid_constant__ PaddedSequences sequences) {
  finish_piece<T, kByElement>(p, [&](int head, int padded_row) {
    const PaddedRow own = find_padded_row(sequences, padded_row);
    return Rows{own.place, head, own.row, own.rows};
  });
}

}  // namespace flashmoe::kernels::finish_backward::inline FLASHMOE_TARGET
