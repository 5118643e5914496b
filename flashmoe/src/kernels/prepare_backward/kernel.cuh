// SPDX-License-Identifier: MIT
// prepare_backward: what the gradients need of each row, and zeros to add to.
// delta = dout . out - dlse, the LSE in units of log2, and dq_sums = 0. Bound: memory. Reads out and dout
// once, writes 4 bytes per element of dq. Roles: a block has 64 rows; neighbouring lanes share a row, 8
// columns each.
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

// The 64 rows of a piece of dQ: where the first one stands, and how many rows there are, none below 0 or from
// `rows` on. dense: the first one's place in the LSE.
struct Rows {
  int batch, head;
  int first, rows;
  int64_t dense;

  __device__ __forceinline__ bool has(int row) const {
    return static_cast<uint32_t>(first + row) < static_cast<uint32_t>(rows);
  }
  __device__ __forceinline__ bool any() const { return first > -kDqPieceRows && first < rows; }
};

// A block has 64 rows, so that what a thread loads of several of them is on its way at once. kLanes: per row;
// they cover the compiled head_dim. find: from a head of all and the first padded row to what stands there.
template <class T, int kLanes, class Find>
__device__ __forceinline__ void prepare_rows(const BackwardParams& p, const Find& find) {
  gpu::griddepcontrol_launch_dependents();
  constexpr int kRowsAtOnce = kThreads / kLanes;
  constexpr int kPasses = kDqPieceRows / kRowsAtOnce;
  const int64_t first_row = int64_t{gpu::block_index()} * kDqPieceRows;  // of all heads, padded
  const auto head = static_cast<int>(first_row / p.padded_rows);
  const Rows rows = find(head, static_cast<int>(first_row - int64_t{head} * p.padded_rows));
  const int lane = gpu::thread_index() % kLanes;
  const int own_row = gpu::thread_index() / kLanes;

  if (rows.any()) {  // else whatever is added to what stands there, nobody reads it
    auto* sums = reinterpret_cast<gpu::Chunk*>(p.dq_sums + first_row * p.padded_dim);
    const int chunks = kDqPieceRows * p.padded_dim / 4;
    for (int i = gpu::thread_index(); i < chunks; i += kThreads) gpu::store_global(sums + i, {0, 0, 0, 0});
  }

  float delta[kPasses] = {};
#pragma unroll
  for (int i = 0; i < kPasses; ++i) {
    const int row = own_row + i * kRowsAtOnce;
    if (!rows.has(row) || kColumns * lane >= p.head_dim) continue;
    delta[i] = dot<T>(load_columns<T>(p.out, rows.batch, rows.head, rows.first + row, kColumns * lane),
                      load_columns<T>(p.dout, rows.batch, rows.head, rows.first + row, kColumns * lane));
  }
  const int64_t thread = int64_t{gpu::block_index()} * kThreads + gpu::thread_index();
  if (thread < p.num_counters()) gpu::store_global(p.counters + thread, 0);
#pragma unroll
  for (int i = 0; i < kPasses; ++i) {
#pragma unroll
    for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) delta[i] += gpu::shuffle_xor(delta[i], lanes);
    const int row = own_row + i * kRowsAtOnce;
    if (lane != 0) continue;
    float lse_log2 = INFINITY;
    if (rows.has(row)) {
      lse_log2 = flashmoe::lse_log2(gpu::load_global(p.lse + rows.dense + row));
      if (p.dlse != nullptr) delta[i] -= gpu::load_global(p.dlse + rows.dense + row);
    }
    gpu::store_global(p.lse_log2 + first_row + row, lse_log2);
    gpu::store_global(p.delta + first_row + row, delta[i]);
  }
}

template <class T, int kLanes>
__global__ void __launch_bounds__(kThreads) prepare_backward(const __grid_constant__ BackwardParams p) {
  prepare_rows<T, kLanes>(p, [&](int head, int first) {
    const int batch = head / p.q_heads;
    return Rows{batch, head - batch * p.q_heads, first, p.q_rows, int64_t{head} * p.q_rows + first};
  });
}

// The same for sequences of different lengths; p.batch is 1.
template <class T, int kLanes>
__global__ void __launch_bounds__(kThreads)
    prepare_sequences(const __grid_constant__ BackwardParams p,
                      const __grid_constant__ PaddedSequences sequences) {
  prepare_rows<T, kLanes>(p, [&](int head, int first) {
    const PaddedRow own = find_padded_row(sequences, first);
    return Rows{own.place, head, own.row, own.rows,
                own.place * sequences.lse_stride + int64_t{head} * p.q_rows + own.row};
  });
}

}  // namespace flashmoe::kernels::prepare_backward::inline FLASHMOE_TARGET
