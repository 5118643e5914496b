// SPDX-License-Identifier: MIT
// The two products of attention for eight query rows, by one warp.
//
// Two liberties make them cheap. The order of a contraction is free, so a lane feeds 8 consecutive elements
// of a row to two matrix instructions: fragments of Q and K are 16-byte loads. And O^T = V^T P^T takes the
// scores as they lie in the accumulators as its B operand, and leaves each lane with 8 consecutive output
// columns. Lanes are counted as the matrix instructions do: lane = 4 g + t.
#pragma once

#include <cstdint>

#include "kernels/eight_rows.h"
#include "kernels/forward_params.h"
#include "primitives/chunk.h"
#include "primitives/halves.h"
#include "primitives/mma.h"
#include "primitives/platform.h"

namespace flashmoe::kernels::inline FLASHMOE_TARGET {

// Packed row r is position r / group of head r % group.
struct QueryRow {
  int position, head;  // head within the group
  bool real;           // false past the last row
};

__device__ __forceinline__ QueryRow query_row(const ForwardParams& p, int row) {
  const int position = p.group == 1 ? row : row / p.group;
  return {position, row - position * p.group, position < p.q_rows};
}

__device__ __forceinline__ uint32_t word(const gpu::Chunk& chunk, int i) {
  return i == 0 ? chunk.x : i == 1 ? chunk.y : i == 2 ? chunk.z : chunk.w;
}

// S = Q K^T for 8 kTiles keys: lane (g, t) gets in S[n][0..1] of row g the keys 8 n + 2 t and the next.
// q[j] holds of row g the elements 32 j + 8 t and the next seven; `k` is swizzled by k_place.
template <class T, int kDim, int kTiles>
__device__ __forceinline__ void multiply_q_k(const gpu::Chunk (&q)[kDim / 32],
                                             const gpu::Chunk (*k)[kDim / 8], int g, int t,
                                             float (&S)[kTiles][4]) {
#pragma unroll
  for (auto& tile : S) tile[0] = tile[1] = tile[2] = tile[3] = 0.0F;
#pragma unroll
  for (int j = 0; j < kDim / 32; ++j) {
    const uint32_t low[4] = {q[j].x, 0, q[j].y, 0};  // rows 8 to 15 of the instruction stay empty
    const uint32_t high[4] = {q[j].z, 0, q[j].w, 0};
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      const gpu::Chunk chunk = k[8 * n + g][k_place(g, 4 * j + t)];
      gpu::mma_m16n8k16<T>(S[n], low, chunk.x, chunk.y);
      gpu::mma_m16n8k16<T>(S[n], high, chunk.z, chunk.w);
    }
  }
}

// O^T += V^T P^T for 16 keys, whose weights are p0 and p1: packed pairs of two tiles of scores. O[i] holds,
// for query rows 2 t and 2 t + 1, columns 64 (i / 4) + 8 g + 2 (i % 4) and the next. `v` is swizzled by
// v_place.
template <class T, int kDim>
__device__ __forceinline__ void add_p_v(uint32_t p0, uint32_t p1, const gpu::Chunk (*v)[kDim / 8], int g,
                                        int t, float (&O)[kDim / 16][4]) {
  const int row = 2 * t;
#pragma unroll
  for (int b = 0; b < kDim / 64; ++b) {
    const int place = v_place(row, 8 * b + g);  // the same for all four rows
    const gpu::Chunk v0 = v[row][place], v1 = v[row + 1][place];
    const gpu::Chunk v8 = v[row + 8][place], v9 = v[row + 9][place];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const uint32_t a[4] = {
          gpu::low_halves(word(v0, j), word(v1, j)), gpu::high_halves(word(v0, j), word(v1, j)),
          gpu::low_halves(word(v8, j), word(v9, j)), gpu::high_halves(word(v8, j), word(v9, j))};
      gpu::mma_m16n8k16<T>(O[4 * b + j], a, p0, p1);
    }
  }
}

}  // namespace flashmoe::kernels::inline FLASHMOE_TARGET
