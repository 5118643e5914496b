// SPDX-License-Identifier: MIT
// naive_dpairs: the gradient of a tensor that is added to scores, dS before the cap's derivative, summed over
// the dimensions along which the tensor is shared. A block has 64 rows and 64 keys of one head, or everything
// that adds to the same elements, one tile after the other in a fixed order: each element is written once, by
// one block, and the same bits come out every time. It finds S and dP of every tile anew, as naive_backward's
// other kernels do.
#pragma once

#include "kernels/naive_backward/kernel.cuh"
#include "kernels/pair_sums.h"

namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET {

// One of a number of parts; what is left of the number is for the next.
__device__ inline int take(unsigned& number, int parts) {
  const int own = static_cast<int>(number % static_cast<unsigned>(parts));
  number /= static_cast<unsigned>(parts);
  return own;
}

// Adds dS of a tile to the thread's sums.
template <class Spec>
__device__ void add_tile(float (&sums)[kRows][kOthers], SmemOf<Spec>& smem, const BackwardParams& p,
                         const typename Spec::Scores& scores, const HeadPairScores& head_scores, int batch,
                         int head, int first_row, int first_key) {
  using T = typename Spec::Element;
  const int ty = gpu::thread_index() / 16;
  const int tx = gpu::thread_index() % 16;
  const int kv_head = head / p.group;
  find_statistics<T>(smem, p, EntryTile(p, batch), head, first_row);
  draw_dropout<Spec>(smem, p, scores, batch, head, first_row, first_key);
  float S[kRows][kOthers], dP[kRows][kOthers];
  multiply(S, smem, tile_of<const T>(p.q, batch, head, first_row, p.q_rows, p.head_dim),
           tile_of<const T>(p.k, batch, kv_head, first_key, p.kv_rows, p.head_dim));
  multiply(dP, smem, tile_of<const T>(p.dout, batch, head, first_row, p.q_rows, p.head_dim),
           tile_of<const T>(p.v, batch, kv_head, first_key, p.kv_rows, p.head_dim));
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kOthers; ++j) {
      const int row = kRows * ty + i;
      const int query = first_row + row;
      const int key = first_key + tx + 16 * j;
      const bool seen = query < p.q_rows && key < p.kv_rows &&
                        (p.table.given() ? sees(p.table, batch, query, key) : p.runs.sees(query, key));
      if (!seen) continue;
      const float score = head_scores(gpu::mul_rn(S[i][j], p.scale_log2e), query, key).score;
      dP[i][j] = drop(dP[i][j], factor_of<Spec>(smem, scores, row, tx + 16 * j));
      sums[i][j] += gpu::ex2(score - smem.lse_log2[row]) * (dP[i][j] - smem.delta[row]);
    }
  }
}

// The tile's sums, added up along what is shared, to where they belong.
__device__ inline void store_sums(const float (&sums)[kRows][kOthers], Smem& smem, const PairSums& to,
                                  float* first, int rows, int keys) {
  const int ty = gpu::thread_index() / 16;
  const int tx = gpu::thread_index() % 16;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kOthers; ++j) smem.scores[kRows * ty + i][tx + 16 * j] = sums[i][j];
  }
  gpu::sync_block();
  const int row_count = to.row_stride == 0 ? 1 : rows;
  const int key_count = to.key_stride == 0 ? 1 : keys;
  for (int at = gpu::thread_index(); at < row_count * key_count; at += kThreads) {
    const int row = at / key_count;
    const int key = at - row * key_count;
    float sum = 0;
    for (int r = row; r < (to.row_stride == 0 ? kTile : row + 1); ++r)
      for (int k = key; k < (to.key_stride == 0 ? kTile : key + 1); ++k) sum += smem.scores[r][k];
    gpu::store_global(first + row * to.row_stride + key * to.key_stride, sum);
  }
}

template <class Spec>
__global__ void __launch_bounds__(kThreads, 1)
    naive_dpairs(const __grid_constant__ BackwardParams p,
                 const __grid_constant__ typename Spec::Scores scores, const __grid_constant__ PairSums to) {
  SmemOf<Spec>& smem = gpu::shared<SmemOf<Spec>>();
  const int row_tiles = (p.q_rows + kTile - 1) / kTile;
  const int key_tiles = (p.kv_rows + kTile - 1) / kTile;
  unsigned number = gpu::block_index();
  const int key_part = take(number, PairSums::parts(to.key_stride, key_tiles));
  const int row_part = take(number, PairSums::parts(to.row_stride, row_tiles));
  const int head_part = take(number, PairSums::parts(to.head_stride, p.q_heads));
  const auto batches = PairSums::part(to.batch_stride, p.batch, static_cast<int>(number));
  const auto heads = PairSums::part(to.head_stride, p.q_heads, head_part);
  const auto rows = PairSums::part(to.row_stride, row_tiles, row_part);
  const auto keys = PairSums::part(to.key_stride, key_tiles, key_part);
  float sums[kRows][kOthers] = {};
  for (int batch = batches.begin; batch < batches.end; ++batch) {
    for (int head = heads.begin; head < heads.end; ++head) {
      const HeadPairScores head_scores = of_head(scores, batch, head);
      for (int row = rows.begin; row < rows.end; ++row)
        for (int key = keys.begin; key < keys.end; ++key)
          add_tile<Spec>(sums, smem, p, scores, head_scores, batch, head, row * kTile, key * kTile);
    }
  }
  const int first_row = rows.begin * kTile;
  const int first_key = keys.begin * kTile;
  const int rows_left = p.q_rows - first_row;
  const int keys_left = p.kv_rows - first_key;
  store_sums(sums, smem, to,
             to.data + batches.begin * to.batch_stride + heads.begin * to.head_stride +
                 first_row * to.row_stride + first_key * to.key_stride,
             rows_left < kTile ? rows_left : kTile, keys_left < kTile ? keys_left : kTile);
}

}  // namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET
