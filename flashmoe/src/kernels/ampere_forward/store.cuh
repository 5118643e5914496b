// SPDX-License-Identifier: MIT
// The end of a block of ampere_forward: normalised rows on their way out, as output or as one split's share.
#pragma once

#include <cmath>

#include "kernels/ampere_forward/tile_copy.cuh"
#include "kernels/ampere_forward/work.cuh"
#include "primitives/arithmetic.h"
#include "primitives/barrier.h"
#include "primitives/memory.h"
#include "primitives/shuffle.h"

namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET {

// The sums of the four lanes of each row together, then O / l.
template <class Spec>
__device__ __forceinline__ void normalise(State<Spec>& state) {
#pragma unroll
  for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float& l = state.l[r][h];
      l += gpu::shuffle_xor(l, 1);
      l += gpu::shuffle_xor(l, 2);
      const float inverse = l == 0 ? 0.0F : gpu::rcp(l);
#pragma unroll
      for (int d = 0; d < Spec::dim_tiles; ++d) {
        state.O[r][d][2 * h] *= inverse;
        state.O[r][d][2 * h + 1] *= inverse;
      }
    }
  }
}

// Row of the dense [B, Hq, Sq] arrays.
__device__ __forceinline__ int64_t dense_row(const ForwardParams& p, const Work& work, int packed_row) {
  const int position = position_of(p, packed_row);
  const int head = work.head + packed_row - position * p.pack;
  return (int64_t{work.batch} * p.q_heads + head) * p.q_rows + position;
}

// Everything that is one number per row, or goes out in fp32: straight from registers.
template <class Spec, class WorkOf>
__device__ __forceinline__ void store_partial(const ForwardParams& p, const WorkOf& work,
                                              const State<Spec>& state) {
  const int64_t dense_rows = int64_t{p.order.batch} * p.q_heads * p.q_rows;
  const int64_t split_row = gpu::block_index_y() * dense_rows;
  const int warp_row = gpu::warp_index() * Spec::rows_per_warp + gpu::lane_index() / 4;
#pragma unroll
  for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = warp_row + 16 * r + 8 * h;
      if (row >= work.rows) continue;
      const int64_t at = split_row + dense_row(p, work, work.first_row + row);
      if (gpu::lane_index() % 4 == 0)
        gpu::store_global(p.partial_stats + at, RowStats{state.m[r][h], state.l[r][h]});
#pragma unroll
      for (int d = 0; d < Spec::dim_tiles; ++d) {
        float* to = p.partial_out + at * Spec::head_dim + 8 * d + 2 * (gpu::lane_index() % 4);
        gpu::store_global(to, state.O[r][d][2 * h]);
        gpu::store_global(to + 1, state.O[r][d][2 * h + 1]);
      }
    }
  }
}

// Up to eight elements to any address.
template <class T>
__device__ inline void scatter(T* to, const gpu::Chunk& chunk, int count) {
  const uint32_t word[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (i < count) gpu::store_global(to + i, T{static_cast<uint16_t>(word[i / 2] >> 16 * (i % 2))});
  }
}

// Through the warp's own rows of shared memory, so that global stores are 16 bytes wide.
template <class Spec, class WorkOf>
__device__ __forceinline__ void store_output(const ForwardParams& p, const WorkOf& work,
                                             const State<Spec>& state, gpu::Chunk* tile) {
  using T = typename Spec::Element;
  const int warp_row = gpu::warp_index() * Spec::rows_per_warp;
  const int lane = gpu::lane_index();
  gpu::sync_warp();  // all lanes have read their Q
#pragma unroll
  for (int r = 0; r < Spec::row_tiles; ++r) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = warp_row + 16 * r + 8 * h + lane / 4;
#pragma unroll
      for (int d = 0; d < Spec::dim_tiles; ++d) {
        auto* words = reinterpret_cast<uint32_t*>(tile + chunk_at<Spec>(row, d));
        words[lane % 4] = gpu::pack<T>(state.O[r][d][2 * h], state.O[r][d][2 * h + 1]);
      }
      if (p.lse != nullptr && lane % 4 == 0 && row < work.rows) {
        const float l = state.l[r][h];
        gpu::store_global(p.lse + dense_row(p, work, work.first_row + row),
                          l == 0 ? -INFINITY : (state.m[r][h] + gpu::lg2(l)) * 0.6931471805599453F);
      }
    }
  }
  gpu::sync_warp();
  T* out = static_cast<T*>(p.out.data) + work.batch * p.out.batch_stride + work.head * p.out.head_stride;
  constexpr int kColumns = Spec::swizzle_width;
#pragma unroll
  for (int i = 0; i < Spec::rows_per_warp / (32 / kColumns); ++i) {
    const int row = warp_row + i * (32 / kColumns) + lane / kColumns;
    if (row >= work.rows) continue;
    T* to = out + packed_offset(p.out, p, work.first_row + row);
#pragma unroll
    for (int j = 0; j < Spec::chunks / kColumns; ++j) {
      const int chunk = lane % kColumns + j * kColumns;
      const int left = p.head_dim - 8 * chunk;
      if (left <= 0) continue;
      if constexpr (Spec::aligned) {
        gpu::store_global(reinterpret_cast<gpu::Chunk*>(to + 8 * chunk), tile[chunk_at<Spec>(row, chunk)]);
      } else {
        scatter(to + 8 * chunk, tile[chunk_at<Spec>(row, chunk)], left);
      }
    }
  }
}

}  // namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET
