// SPDX-License-Identifier: MIT
// naive_backward: gradients of attention by 64 x 64 tiles in scalar fp32. It takes every problem: any type,
// strides, alignment, scale, runs of keys and head_dim up to 256, and in its general forms any change of
// scores and dropout, with a tensor or with sequences of different lengths; needs no workspace of its own;
// and gives the same bits every time. Bound: issue slots and shared memory; what no other kernel takes comes
// here. Two kernels: naive_dkv has a block for 64 keys, naive_dq one for 64 query rows, and both find S and
// dP of every tile anew. Roles: all threads load, all threads compute; thread (ty, tx) has rows 4 ty .. 4 ty
// + 3 of what the block keeps, and of what streams by rows (or columns) tx, tx + 16, ...
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/backward_params.h"
#include "kernels/draw_kept_pairs.h"
#include "kernels/head_pairs.h"
#include "kernels/load_first_keys.h"
#include "kernels/naive_backward/smem.h"
#include "numeric/half.h"
#include "numeric/lse_log2.h"
#include "primitives/arithmetic.h"
#include "primitives/barrier.h"
#include "primitives/index.h"
#include "primitives/memory.h"
#include "primitives/shared.h"
#include "primitives/shuffle.h"

namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET {

inline constexpr int kRows = 4;               // of a thread
inline constexpr int kOthers = kTile / 16;    // rows that stream by, of a thread
inline constexpr int kColumns = kSlice / 16;  // of a thread, in a slice

// Up to kTile rows of one head.
template <class T>
struct Matrix {
  T* data;
  int64_t row_stride;
  int rows;
  int head_dim;
};

template <class T>
__device__ Matrix<T> tile_of(const View& view, int batch, int head, int first_row, int all_rows,
                             int head_dim) {
  T* data = static_cast<T*>(view.data) + batch * view.batch_stride + head * view.head_stride +
            first_row * view.row_stride;
  const int left = all_rows - first_row;
  return {data, view.row_stride, left < kTile ? left : kTile, head_dim};
}

// Columns [column, column + kSlice), in fp32; zeros outside of the matrix.
template <class T>
__device__ void load_slice(float (&to)[kTile][kSlice + 1], const Matrix<T>& from, int column) {
  for (int i = gpu::thread_index(); i < kTile * kSlice; i += kThreads) {
    const int r = i / kSlice;
    const int c = i % kSlice;
    const bool inside = r < from.rows && column + c < from.head_dim;
    to[r][c] = inside ? gpu::widen(gpu::load_global(from.data + r * from.row_stride + column + c)) : 0.0F;
  }
}

// product = own other^T.
template <class T>
__device__ void multiply(float (&product)[kRows][kOthers], Smem& smem, const Matrix<T>& own,
                         const Matrix<T>& other) {
  const int ty = gpu::thread_index() / 16;
  const int tx = gpu::thread_index() % 16;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kOthers; ++j) product[i][j] = 0;
  }
  for (int column = 0; column < own.head_dim; column += kSlice) {
    gpu::sync_block();
    load_slice(smem.own, own, column);
    load_slice(smem.other, other, column);
    gpu::sync_block();
    for (int d = 0; d < kSlice; ++d) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int j = 0; j < kOthers; ++j) {
          product[i][j] += smem.own[kRows * ty + i][d] * smem.other[tx + 16 * j][d];
        }
      }
    }
  }
}

// sums += scores other.
template <class Spec, class T>
__device__ void accumulate(float (&sums)[kRows][Spec::slices * kColumns],
                           const float (&scores)[kRows][kOthers], Smem& smem, const Matrix<T>& other) {
  const int ty = gpu::thread_index() / 16;
  const int tx = gpu::thread_index() % 16;
  gpu::sync_block();  // all have read the scores before
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kOthers; ++j) smem.scores[kRows * ty + i][tx + 16 * j] = scores[i][j];
  }
#pragma unroll
  for (int slice = 0; slice < Spec::slices; ++slice) {
    if (slice * kSlice >= other.head_dim) continue;
    gpu::sync_block();
    load_slice(smem.other, other, slice * kSlice);
    gpu::sync_block();
    for (int row = 0; row < kTile; ++row) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          sums[i][slice * kColumns + c] += smem.scores[kRows * ty + i][row] * smem.other[row][tx + 16 * c];
        }
      }
    }
  }
}

// LSE and delta = dout . out - dlse of a tile's queries: four lanes for each.
template <class T, class Place>
__device__ void find_statistics(Smem& smem, const BackwardParams& p, const Place& place, int head,
                                int first_row) {
  const auto out = tile_of<const T>(p.out, place.q_batch(), head, first_row, place.q_rows(), p.head_dim);
  const auto dout = tile_of<const T>(p.dout, place.q_batch(), head, first_row, place.q_rows(), p.head_dim);
  const int row = gpu::thread_index() / 4;
  float delta = 0;
  if (row < out.rows) {
    for (int c = gpu::thread_index() % 4; c < p.head_dim; c += 4) {
      delta += gpu::widen(gpu::load_global(out.data + row * out.row_stride + c)) *
               gpu::widen(gpu::load_global(dout.data + row * dout.row_stride + c));
    }
  }
  delta += gpu::shuffle_xor(delta, 1);
  delta += gpu::shuffle_xor(delta, 2);
  gpu::sync_block();  // all have read those of the tile before
  if (gpu::thread_index() % 4 == 0 && row < out.rows) {
    const int64_t dense = place.lse_row(head, first_row) + row;
    if (p.dlse != nullptr) delta -= gpu::load_global(p.dlse + dense);
    smem.lse_log2[row] = lse_log2(gpu::load_global(p.lse + dense));
    smem.delta[row] = delta;
  }
  gpu::sync_block();
}

template <class Scores>
inline constexpr bool kHasPairs = std::is_same_v<Scores, HeadPairScores>;

// What a tensor adds to the scores of a tile goes where the scores will be, [own][other].
template <bool kOwnKeys, class Scores>
__device__ void load_pairs(Smem& smem, const Scores& scores, int first_row, int first_key) {
  if constexpr (kHasPairs<Scores>) {
    gpu::sync_block();  // all have read the scores before
    for (int i = gpu::thread_index(); i < kTile * kTile; i += kThreads) {
      const int row = i / kTile;
      const int key = i % kTile;
      smem.scores[kOwnKeys ? key : row][kOwnKeys ? row : key] =
          scores.added(first_row + row, first_key + key);
    }
  }
}

// Barriers lie between the reads of the tile before and this, and between this and its own.
template <class Spec>
__device__ void draw_dropout(SmemOf<Spec>& smem, const BackwardParams& p, const typename Spec::Scores& scores,
                             int entry, int head, int first_row, int first_key) {
  if constexpr (Spec::general) {
    draw_kept_pairs<kThreads>(smem.kept, scores.dropout, int64_t{entry} * p.q_heads + head, first_row,
                              first_key);
  }
}

// What the weight of a pair of the tile is multiplied by.
template <class Spec>
__device__ __forceinline__ float factor_of(const SmemOf<Spec>& smem, const typename Spec::Scores& scores,
                                           int row, int key) {
  if constexpr (Spec::general) {
    return smem.kept.factor(scores.dropout, row, key);
  } else {
    return 1;
  }
}

// S becomes P, less what dropout leaves out, and dP becomes dS. `query` and `key` are of the problem; `row`
// is the query's in its tile; `added` is what load_pairs left for them, `factor` what the weight was
// multiplied by.
template <class Scores, class Place>
__device__ inline void differentiate(float& S, float& dP, const Smem& smem, const BackwardParams& p,
                                     const Scores& scores, int row, const Place& place, int query, int key,
                                     const float& added, float factor) {
  const bool seen =
      query < place.q_rows() && key < place.kv_rows() &&
      (p.table.given() ? sees(p.table, place.q_batch(), query, key) : place.runs().sees(query, key));
  if constexpr (!std::is_same_v<Scores, NoScores>) {
    dP = drop(dP, factor);
    const HeadScores& by_rule = scores;
    ScoreFunction::Changed changed =
        by_rule(gpu::mul_rn(S, p.scale_log2e), query + place.first_position(), key);
    if constexpr (kHasPairs<Scores>) changed.score += added;
    S = seen ? gpu::ex2(changed.score - smem.lse_log2[row]) : 0.0F;
    dP = seen ? S * (dP - smem.delta[row]) * changed.derivative : 0.0F;
    S = drop(S, factor);
  } else {
    S = seen ? gpu::ex2(S * p.scale_log2e - smem.lse_log2[row]) : 0.0F;
    dP = seen ? S * (dP - smem.delta[row]) : 0.0F;
  }
}

// Where they go through nothing.
__device__ inline NoScores of_head(const NoScores&, int, int) { return {}; }

template <class Spec, class T>
__device__ void store(const Matrix<T>& to, const float (&sums)[kRows][Spec::slices * kColumns], float scale) {
  const int ty = gpu::thread_index() / 16;
  const int tx = gpu::thread_index() % 16;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    if (kRows * ty + i >= to.rows) continue;
#pragma unroll
    for (int c = 0; c < Spec::slices * kColumns; ++c) {
      const int column = c / kColumns * kSlice + tx + 16 * (c % kColumns);
      if (column < to.head_dim) {
        gpu::store_global(to.data + (kRows * ty + i) * to.row_stride + column,
                          gpu::narrow<T>(sums[i][c] * scale));
      }
    }
  }
}

// The tile, head and batch entry of a block.
struct EntryTile {
  const BackwardParams& p;
  int batch, head, first_row;

  __device__ EntryTile(const BackwardParams& params, int rows, int heads) : p(params) {
    const int tiles = (rows + kTile - 1) / kTile;
    const int row_of_tiles = static_cast<int>(gpu::block_index()) / tiles;
    first_row = (static_cast<int>(gpu::block_index()) - row_of_tiles * tiles) * kTile;
    batch = row_of_tiles / heads;
    head = row_of_tiles - batch * heads;
  }

  // Nothing but the entry, for kernels that number their blocks otherwise.
  __device__ EntryTile(const BackwardParams& params, int entry)
      : p(params), batch(entry), head(0), first_row(0) {}

  static __device__ constexpr bool exists() { return true; }
  __device__ int number() const { return batch; }
  __device__ int q_batch() const { return batch; }
  __device__ int k_batch() const { return batch; }
  __device__ int q_rows() const { return p.q_rows; }
  __device__ int kv_rows() const { return p.kv_rows; }
  __device__ const Runs& runs() const { return p.runs; }
  __device__ int causal_shift() const { return p.causal_shift; }
  static __device__ constexpr int first_position() { return 0; }  // beside what ScoreParams knows
  __device__ int64_t lse_row(int of_head, int row) const {
    return (int64_t{batch} * p.q_heads + of_head) * p.q_rows + row;
  }
};

// The same of a sequence; places take the place of batch entries.
struct TileOfSequence {
  const BackwardParams& p;
  SequenceTile own;
  int64_t lse;  // of its row 0 of head 0
  int head, first_row;
  int position;
  Runs rule;

  __device__ TileOfSequence(const BackwardParams& params, const SequenceTiles& tiles, int heads) : p(params) {
    const int tile = static_cast<int>(gpu::block_index()) / heads;
    own = gpu::load_global(tiles.tiles + tile);
    lse = own.q_place * tiles.lse_stride;
    head = static_cast<int>(gpu::block_index()) - tile * heads;
    first_row = own.first_row;
    position = tiles.rule.first_position(own.q_rows, own.k_rows);
    rule = tiles.rule.runs(own.q_rows, own.k_rows);
  }

  __device__ bool exists() const { return own.sequence != kNoSequence; }
  __device__ int number() const { return own.sequence; }
  __device__ int q_batch() const { return own.q_place; }
  __device__ int k_batch() const { return own.k_place; }
  __device__ int q_rows() const { return own.q_rows; }
  __device__ int kv_rows() const { return own.k_rows; }
  __device__ const Runs& runs() const { return rule; }
  __device__ int causal_shift() const { return rule.end - 1; }
  __device__ int first_position() const { return position; }
  __device__ int64_t lse_row(int of_head, int row) const { return lse + int64_t{of_head} * p.q_rows + row; }
};

template <class Spec>
__device__ __forceinline__ auto keys_of_block(const BackwardParams& p, const typename Spec::Scores& scores) {
  if constexpr (Spec::lengths) {
    return TileOfSequence(p, scores.k_tiles, p.kv_heads);
  } else {
    return EntryTile(p, p.kv_rows, p.kv_heads);
  }
}

template <class Spec>
__device__ __forceinline__ auto rows_of_block(const BackwardParams& p, const typename Spec::Scores& scores) {
  if constexpr (Spec::lengths) {
    return TileOfSequence(p, scores.q_tiles, p.q_heads);
  } else {
    return EntryTile(p, p.q_rows, p.q_heads);
  }
}

// What the rows of a tile see between them.
template <class Spec, class Place>
__device__ __forceinline__ Run load_tile_of_rows(const BackwardParams& p, const Place& place, int first_row) {
  if constexpr (Spec::lengths) {
    const int behind = first_row + kTile < place.q_rows() ? first_row + kTile : place.q_rows();
    return load_hull(p.table, place.q_batch(), first_row, behind - 1);
  } else {
    const TileRuns seen = load_tile(p.table, place.number(), first_row / kTableTile);
    return {seen.min_begin, seen.max_end};
  }
}

template <class Spec>
__global__ void __launch_bounds__(kThreads, 1)
    naive_dkv(const __grid_constant__ BackwardParams p,
              const __grid_constant__ typename Spec::Scores scores) {
  using T = typename Spec::Element;
  SmemOf<Spec>& smem = gpu::shared<SmemOf<Spec>>();
  const int ty = gpu::thread_index() / 16;
  const int tx = gpu::thread_index() % 16;
  const auto place = keys_of_block<Spec>(p, scores);
  if (!place.exists()) return;
  const int first_key = place.first_row;
  const auto k = tile_of<const T>(p.k, place.k_batch(), place.head, first_key, place.kv_rows(), p.head_dim);
  const auto v = tile_of<const T>(p.v, place.k_batch(), place.head, first_key, place.kv_rows(), p.head_dim);
  float dK[kRows][Spec::slices * kColumns] = {};
  float dV[kRows][Spec::slices * kColumns] = {};
  int first_query = first_key - place.causal_shift();  // that sees a key of the tile
  const int64_t behind_last = int64_t{first_key} + kTile - place.runs().begin;
  int end = behind_last < place.q_rows() ? static_cast<int>(behind_last) : place.q_rows();
  if (p.table.given()) {
    first_query = 0;
    end = place.q_rows();
  }
  for (int head = place.head * p.group; head < (place.head + 1) * p.group; ++head) {
    const auto head_scores = of_head(scores, place.number(), head);
    for (int row = first_query <= 0 ? 0 : first_query / kTile * kTile; row < end; row += kTile) {
      if (p.table.given()) {
        const Run seen = load_tile_of_rows<Spec>(p, place, row);
        if (seen.end <= first_key || seen.begin >= first_key + kTile) continue;
      }
      const auto q = tile_of<const T>(p.q, place.q_batch(), head, row, place.q_rows(), p.head_dim);
      const auto dout = tile_of<const T>(p.dout, place.q_batch(), head, row, place.q_rows(), p.head_dim);
      find_statistics<T>(smem, p, place, head, row);
      load_pairs<true>(smem, head_scores, row, first_key);
      draw_dropout<Spec>(smem, p, scores, place.number(), head, row, first_key);
      float S[kRows][kOthers], dP[kRows][kOthers];
      multiply(S, smem, k, q);
      multiply(dP, smem, v, dout);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int j = 0; j < kOthers; ++j) {
          const int in_tile = tx + 16 * j;
          differentiate(S[i][j], dP[i][j], smem, p, head_scores, in_tile, place, row + in_tile,
                        first_key + kRows * ty + i, smem.scores[kRows * ty + i][in_tile],
                        factor_of<Spec>(smem, scores, in_tile, kRows * ty + i));
        }
      }
      accumulate<Spec>(dV, S, smem, dout);
      accumulate<Spec>(dK, dP, smem, q);
    }
  }
  store<Spec>(tile_of<T>(p.dk, place.k_batch(), place.head, first_key, place.kv_rows(), p.head_dim), dK,
              p.scale);
  store<Spec>(tile_of<T>(p.dv, place.k_batch(), place.head, first_key, place.kv_rows(), p.head_dim), dV,
              1.0F);
}

template <class Spec>
__global__ void __launch_bounds__(kThreads, 1)
    naive_dq(const __grid_constant__ BackwardParams p, const __grid_constant__ typename Spec::Scores scores) {
  using T = typename Spec::Element;
  SmemOf<Spec>& smem = gpu::shared<SmemOf<Spec>>();
  const int ty = gpu::thread_index() / 16;
  const int tx = gpu::thread_index() % 16;
  const auto place = rows_of_block<Spec>(p, scores);
  if (!place.exists()) return;
  const int first_row = place.first_row;
  const int kv_head = place.head / p.group;
  const auto q = tile_of<const T>(p.q, place.q_batch(), place.head, first_row, place.q_rows(), p.head_dim);
  const auto dout =
      tile_of<const T>(p.dout, place.q_batch(), place.head, first_row, place.q_rows(), p.head_dim);
  float dQ[kRows][Spec::slices * kColumns] = {};
  find_statistics<T>(smem, p, place, place.head, first_row);
  const auto head_scores = of_head(scores, place.number(), place.head);
  int64_t visible = int64_t{first_row} + kTile + place.causal_shift();  // keys of the last row
  int begin = place.runs().visible(first_row, place.q_rows(), place.kv_rows()).begin / kTile * kTile;
  if (p.table.given()) {
    const Run seen = load_tile_of_rows<Spec>(p, place, first_row);
    begin = seen.begin / kTile * kTile;
    visible = seen.end;
  }
  for (int key = begin; key < place.kv_rows() && key < visible; key += kTile) {
    const auto k = tile_of<const T>(p.k, place.k_batch(), kv_head, key, place.kv_rows(), p.head_dim);
    const auto v = tile_of<const T>(p.v, place.k_batch(), kv_head, key, place.kv_rows(), p.head_dim);
    load_pairs<false>(smem, head_scores, first_row, key);
    draw_dropout<Spec>(smem, p, scores, place.number(), place.head, first_row, key);
    float S[kRows][kOthers], dP[kRows][kOthers];
    multiply(S, smem, q, k);
    multiply(dP, smem, dout, v);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kOthers; ++j) {
        const int in_tile = kRows * ty + i;
        differentiate(S[i][j], dP[i][j], smem, p, head_scores, in_tile, place, first_row + in_tile,
                      key + tx + 16 * j, smem.scores[in_tile][tx + 16 * j],
                      factor_of<Spec>(smem, scores, in_tile, tx + 16 * j));
      }
    }
    accumulate<Spec>(dQ, dP, smem, k);
  }
  store<Spec>(tile_of<T>(p.dq, place.q_batch(), place.head, first_row, place.q_rows(), p.head_dim), dQ,
              p.scale);
}

}  // namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET
