// SPDX-License-Identifier: MIT
// prepare_backward: what the gradients need of each row, and zeros to add to.
// delta = dout . out - dlse, the LSE in units of log2, and dq_sums = 0. Bound: memory. Reads out and dout
// once, writes 4 bytes per element of dq. Roles: neighbouring lanes share a row, 8 columns each.
#pragma once

#include <cmath>

#include "kernels/backward_params.h"
#include "kernels/find_padded_row.h"
#include "numeric/half.h"
#include "numeric/lse_log2.h"
#include "primitives/arithmetic.h"
#include "primitives/control.h"
#include "primitives/index.h"
#include "primitives/memory.h"
#include "primitives/shuffle.h"

namespace flashmoe::kernels::prepare_backward::inline FLASHMOE_TARGET {

inline constexpr int kThreads = 256;
inline constexpr int kColumns = 8;  // per lane

template <class T>
__device__ __forceinline__ float dot(const gpu::Chunk& x, const gpu::Chunk& y) {
  const uint32_t a[4] = {x.x, x.y, x.z, x.w};
  const uint32_t b[4] = {y.x, y.y, y.z, y.w};
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum = fmaf(gpu::widen(T{static_cast<uint16_t>(a[i])}), gpu::widen(T{static_cast<uint16_t>(b[i])}), sum);
    sum = fmaf(gpu::widen(T{static_cast<uint16_t>(a[i] >> 16)}),
               gpu::widen(T{static_cast<uint16_t>(b[i] >> 16)}), sum);
  }
  return sum;
}

template <class T>
__device__ __forceinline__ gpu::Chunk load_columns(const View& view, int batch, int head, int row,
                                                   int column) {
  const T* from = static_cast<const T*>(view.data) + batch * view.batch_stride + head * view.head_stride +
                  row * view.row_stride + column;
  return gpu::load_global(reinterpret_cast<const gpu::Chunk*>(from));
}

// What stands in a padded row; real: something does; in_piece: something does in one of the rows of dQ's
// piece. dense: its place in the LSE.
struct Row {
  bool real, in_piece;
  int batch, head, row;
  int64_t dense;
};

// kLanes: per row; they cover the compiled head_dim. find: from a head of all and a padded row of it to what
// stands there.
template <class T, int kLanes, class Find>
__device__ __forceinline__ void prepare_row(const BackwardParams& p, const Find& find) {
  gpu::griddepcontrol_launch_dependents();
  const int64_t thread = int64_t{gpu::block_index()} * kThreads + gpu::thread_index();
  const int64_t row = thread / kLanes;  // of all heads, padded
  const auto lane = static_cast<int>(thread % kLanes);
  const auto head = static_cast<int>(row / p.padded_rows);
  const auto position = static_cast<int>(row - int64_t{head} * p.padded_rows);
  const Row own = find(head, position);

  float delta = 0;
  if (own.real && kColumns * lane < p.head_dim) {
    delta = dot<T>(load_columns<T>(p.out, own.batch, own.head, own.row, kColumns * lane),
                   load_columns<T>(p.dout, own.batch, own.head, own.row, kColumns * lane));
  }
#pragma unroll
  for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) delta += gpu::shuffle_xor(delta, lanes);
  if (head >= p.batch * p.q_heads) return;

  if (lane == 0) {
    float lse_log2 = INFINITY;
    if (own.real) {
      lse_log2 = flashmoe::lse_log2(gpu::load_global(p.lse + own.dense));
      if (p.dlse != nullptr) delta -= gpu::load_global(p.dlse + own.dense);
    }
    gpu::store_global(p.lse_log2 + row, lse_log2);
    gpu::store_global(p.delta + row, delta);
  }
  if (thread < p.num_counters()) gpu::store_global(p.counters + thread, 0);
  if (!own.in_piece) return;  // whatever is added to what stands there, nobody reads it
  auto* sums = reinterpret_cast<gpu::Chunk*>(p.dq_sums + thread * kColumns);
  gpu::store_global(sums, {0, 0, 0, 0});
  gpu::store_global(sums + 1, {0, 0, 0, 0});
}

template <class T, int kLanes>
__global__ void __launch_bounds__(kThreads) prepare_backward(const __grid_constant__ BackwardParams p) {
  prepare_row<T, kLanes>(p, [&](int head, int position) {
    const int batch = head / p.q_heads;
    return Row{head < p.batch * p.q_heads && position < p.q_rows,
               position / kDqPieceRows * kDqPieceRows < p.q_rows,
               batch,
               head - batch * p.q_heads,
               position,
               int64_t{head} * p.q_rows + position};
  });
}

// The same for sequences of different lengths; p.batch is 1.
template <class T, int kLanes>
__global__ void __launch_bounds__(kThreads)
    prepare_sequences(const __grid_constant__ BackwardParams p,
                      const __grid_constant__ PaddedSequences sequences) {
  prepare_row<T, kLanes>(p, [&](int head, int position) {
    if (head >= p.q_heads) return Row{false, false, 0, 0, 0, 0};
    const PaddedRow own = find_padded_row(sequences, position);
    const int first = own.row - position % kDqPieceRows;  // of the piece
    return Row{own.row >= 0 && own.row<own.rows, first> - kDqPieceRows && first < own.rows, own.place, head,
               own.row, own.place * sequences.lse_stride + int64_t{head} * p.q_rows + own.row};
  });
}

}  // namespace flashmoe::kernels::prepare_backward::inline FLASHMOE_TARGET
