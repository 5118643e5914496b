// SPDX-License-Identifier: MIT
// naive_forward: attention by 64 x 64 tiles in scalar fp32, one block for 64 query rows.
// Bound: issue slots and shared memory; it is the first rung of the ladder, not a fast kernel. It takes every
// problem: any type, strides, alignment, scale, runs of keys and head_dim up to 256; in its general forms any
// change of scores and dropout, with a tensor or with sequences of different lengths.
// Roles: all threads load, all threads compute; thread (ty, tx) has rows 4 ty .. 4 ty + 3 and columns tx, tx
// + 16, ...
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/draw_kept_pairs.h"
#include "kernels/forward_params.h"
#include "kernels/head_pairs.h"
#include "kernels/load_first_keys.h"
#include "kernels/naive/smem.h"
#include "kernels/runs.h"
#include "numeric/half.h"
#include "primitives/arithmetic.h"
#include "primitives/barrier.h"
#include "primitives/index.h"
#include "primitives/memory.h"
#include "primitives/shared.h"
#include "primitives/shuffle.h"

namespace flashmoe::kernels::naive::inline FLASHMOE_TARGET {

// Columns [column, column + kSlice) of `rows` rows, in fp32; zeros outside of the matrix.
template <class T>
__device__ void load_slice(float (&to)[kTile][kSlice + 1], const T* from, int64_t row_stride, int rows,
                           int column, int head_dim) {
  for (int i = gpu::thread_index(); i < kTile * kSlice; i += kThreads) {
    const int r = i / kSlice;
    const int c = i % kSlice;
    const bool inside = r < rows && column + c < head_dim;
    to[r][c] = inside ? gpu::widen(gpu::load_global(from + r * row_stride + column + c)) : 0.0F;
  }
}

// The 16 threads that share a row are neighbours in a warp.
__device__ inline float max_over_row(float x) {
  for (int lanes = 1; lanes < 16; lanes *= 2) x = fmaxf(x, gpu::shuffle_xor(x, lanes));
  return x;
}

__device__ inline float sum_over_row(float x) {
  for (int lanes = 1; lanes < 16; lanes *= 2) x += gpu::shuffle_xor(x, lanes);
  return x;
}

inline constexpr int kRows = 4;               // rows of a thread
inline constexpr int kKeys = kTile / 16;      // its keys in a tile
inline constexpr int kColumns = kSlice / 16;  // its output columns in a slice

// Of a thread's rows, over some keys.
template <class Spec>
struct Sums {
  float O[kRows][Spec::slices * kColumns];
  float l[kRows];  // over this thread's keys only
};

template <class Spec>
using SumsSmem = std::conditional_t<Spec::long_sums, LongSmem<Spec>, Smem>;
template <class Spec>
using SmemOf = std::conditional_t<Spec::general, GeneralSmem<SumsSmem<Spec>>, SumsSmem<Spec>>;

// The sums of the stretches before, touched once in a stretch: what this thread has of O in its own column of
// shared memory.
template <class Spec>
struct Stretches {
  LongSmem<Spec>& smem;
  bool any = false;
  float l[kRows] = {};
  float alpha[kRows] = {1, 1, 1, 1};  // from their maxima to those of now

  __device__ __forceinline__ float& O(int row, int column) const {
    return smem.stretches[row * Spec::slices * kColumns + column][gpu::thread_index()];
  }

  __device__ __forceinline__ void add_to(Sums<Spec>& now) const {
    if (!any) return;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      now.l[i] += alpha[i] * l[i];
#pragma unroll
      for (int c = 0; c < Spec::slices * kColumns; ++c) now.O[i][c] += alpha[i] * O(i, c);
    }
  }

  // Takes the sums of a stretch, and leaves zeros.
  __device__ __forceinline__ void take(Sums<Spec>& now) {
    add_to(now);
    any = true;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      alpha[i] = 1;
      l[i] = now.l[i];
      now.l[i] = 0;
#pragma unroll
      for (int c = 0; c < Spec::slices * kColumns; ++c) {
        O(i, c) = now.O[i][c];
        now.O[i][c] = 0;
      }
    }
  }
};

// Where there are none.
struct NoStretches {
  explicit __device__ NoStretches(Smem&) {}
};

// The tile of a block: rows of one head of a batch entry.
struct EntryTile {
  const ForwardParams& p;
  const Runs& runs;
  int number, head, first_row;  // number: of the entry

  __device__ EntryTile(const ForwardParams& params, const Runs& rule, const TileOrder::Tile& tile)
      : p(params), runs(rule), number(tile.batch), head(tile.head), first_row(tile.q_tile * kTile) {}

  static __device__ constexpr bool exists() { return true; }
  __device__ int q_batch() const { return number; }
  __device__ int k_batch() const { return number; }
  __device__ int q_rows() const { return p.q_rows; }
  __device__ int kv_rows() const { return p.kv_rows; }
  static __device__ constexpr int first_position() { return 0; }  // beside what ScoreParams knows
  __device__ int64_t lse_row(int row) const {
    return (int64_t{number} * p.q_heads + head) * p.q_rows + first_row + row;
  }
};

// The same of a sequence; places take the place of batch entries.
struct TileOfSequence {
  SequenceTile own;
  Runs runs;
  int number, head, first_row;
  int position;
  int64_t lse;

  __device__ TileOfSequence(const ForwardParams& p, const SequenceTiles& tiles, const TileOrder::Tile& tile)
      : own(gpu::load_global(tiles.tiles + tile.q_tile)),
        runs(tiles.rule.runs(own.q_rows, own.k_rows)),
        number(own.sequence),
        head(tile.head),
        first_row(own.first_row),
        position(tiles.rule.first_position(own.q_rows, own.k_rows)),
        lse(own.q_place * tiles.lse_stride + int64_t{head} * p.q_rows) {}

  __device__ bool exists() const { return own.sequence != kNoSequence; }
  __device__ int q_batch() const { return own.q_place; }
  __device__ int k_batch() const { return own.k_place; }
  __device__ int q_rows() const { return own.q_rows; }
  __device__ int kv_rows() const { return own.k_rows; }
  __device__ int first_position() const { return position; }
  __device__ int64_t lse_row(int row) const { return lse + first_row + row; }
};

template <class Spec>
__device__ __forceinline__ auto place_of(const ForwardParams& p, const Runs& rule,
                                         const typename Spec::Scores& scores) {
  const TileOrder::Tile tile = p.order.tile(gpu::block_index());
  if constexpr (Spec::lengths) {
    return TileOfSequence(p, scores.tiles, tile);
  } else {
    return EntryTile(p, rule, tile);
  }
}

template <class Spec>
__global__ void __launch_bounds__(kThreads, Spec::blocks_per_sm)
    naive_forward(const __grid_constant__ ForwardParams p, const __grid_constant__ Runs rule,
                  const __grid_constant__ RowTable table,
                  const __grid_constant__ typename Spec::Scores scores) {
  using T = typename Spec::Element;
  SmemOf<Spec>& smem = gpu::shared<SmemOf<Spec>>();
  const int ty = gpu::thread_index() / 16;
  const int tx = gpu::thread_index() % 16;

  const auto place = place_of<Spec>(p, rule, scores);
  if (!place.exists()) return;
  const Runs& runs = place.runs;
  const int first_row = place.first_row;
  const int rows = place.q_rows() - first_row < kTile ? place.q_rows() - first_row : kTile;
  const int kv_head = place.head / p.group;
  const T* q = static_cast<const T*>(p.q.data) + place.q_batch() * p.q.batch_stride +
               place.head * p.q.head_stride + first_row * p.q.row_stride;
  const T* k =
      static_cast<const T*>(p.k.data) + place.k_batch() * p.k.batch_stride + kv_head * p.k.head_stride;
  const T* v =
      static_cast<const T*>(p.v.data) + place.k_batch() * p.v.batch_stride + kv_head * p.v.head_stride;
  const int slices = (p.head_dim + kSlice - 1) / kSlice;

  Sums<Spec> sums{};
  [[maybe_unused]] std::conditional_t<Spec::long_sums, Stretches<Spec>, NoStretches> before{smem};
  float m[kRows];  // running maximum of the scaled scores, in units of log2
  for (float& maximum : m) maximum = -INFINITY;

  int begin = runs.visible(first_row, place.q_rows(), place.kv_rows()).begin / kTile * kTile;
  int end = runs.visible(first_row + rows - 1, place.q_rows(), place.kv_rows()).end;
  if (table.given()) {
    if constexpr (Spec::lengths) {
      const Run seen = load_hull(table, place.q_batch(), first_row, first_row + rows - 1);
      begin = seen.begin / kTile * kTile;
      end = seen.end;
    } else {
      const TileRuns seen = load_tile(table, place.number, first_row / kTableTile);
      begin = seen.min_begin / kTile * kTile;
      end = seen.max_end;
    }
  }
  for (int first_key = begin; first_key < end; first_key += kTile) {
    if constexpr (Spec::long_sums) {
      if (first_key > begin && first_key % (kStretch * kTile) == 0) before.take(sums);
    }
    if constexpr (Spec::general) {
      const int64_t head = int64_t{place.number} * p.q_heads + place.head;
      draw_kept_pairs<kThreads>(smem.kept, scores.dropout, head, first_row, first_key);
    }
    const int key_rows = place.kv_rows() - first_key < kTile ? place.kv_rows() - first_key : kTile;
    float S[kRows][kKeys] = {};
    for (int slice = 0; slice < slices; ++slice) {
      gpu::sync_block();
      load_slice(smem.q, q, p.q.row_stride, rows, slice * kSlice, p.head_dim);
      load_slice(smem.kv, k + first_key * p.k.row_stride, p.k.row_stride, key_rows, slice * kSlice,
                 p.head_dim);
      gpu::sync_block();
      for (int d = 0; d < kSlice; ++d) {
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
#pragma unroll
          for (int j = 0; j < kKeys; ++j) S[i][j] += smem.q[kRows * ty + i][d] * smem.kv[tx + 16 * j][d];
        }
      }
    }
    float alpha[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float largest = -INFINITY;
#pragma unroll
      for (int j = 0; j < kKeys; ++j) {
        const int key = first_key + tx + 16 * j;
        const int row = first_row + kRows * ty + i;
        int in_table = row;  // rows past the last are as that; of batch entries tables have some of them
        if constexpr (Spec::lengths) in_table = row < place.q_rows() ? row : place.q_rows() - 1;
        const bool seen = key < place.kv_rows() &&
                          (table.given() ? sees(table, place.q_batch(), in_table, key) : runs.sees(row, key));
        if constexpr (Spec::general) {
          const auto changed = of_head(scores, place.number, place.head);
          const float score = gpu::mul_rn(S[i][j], p.scale_log2e);
          S[i][j] = seen ? changed(score, row + place.first_position(), key).score : -INFINITY;
        } else {
          S[i][j] = seen ? gpu::mul_rn(S[i][j], p.scale_log2e) : -INFINITY;
        }
        largest = fmaxf(largest, S[i][j]);
      }
      const float m_new = fmaxf(m[i], max_over_row(largest));
      const float base =
          m_new == -INFINITY ? 0.0F : m_new;  // a row that has seen no key yet: all weights become 0
      alpha[i] = gpu::ex2(m[i] - base);
      if constexpr (Spec::long_sums) before.alpha[i] *= alpha[i];
      m[i] = m_new;
      float l = Spec::long_sums ? 0.0F : sums.l[i] * alpha[i];
#pragma unroll
      for (int j = 0; j < kKeys; ++j) {
        float weight = gpu::ex2(S[i][j] - base);
        l += weight;
        if constexpr (Spec::general)
          weight = drop(weight, smem.kept.factor(scores.dropout, kRows * ty + i, tx + 16 * j));
        smem.p[kRows * ty + i][tx + 16 * j] = weight;
      }
      sums.l[i] = Spec::long_sums ? fmaf(sums.l[i], alpha[i], l) : l;
      if constexpr (!Spec::long_sums) {
#pragma unroll
        for (int c = 0; c < Spec::slices * kColumns; ++c) sums.O[i][c] *= alpha[i];
      }
    }
#pragma unroll
    for (int slice = 0; slice < Spec::slices; ++slice) {
      if (slice >= slices) continue;
      gpu::sync_block();
      load_slice(smem.kv, v + first_key * p.v.row_stride, p.v.row_stride, key_rows, slice * kSlice,
                 p.head_dim);
      gpu::sync_block();
      float tile_sums[kRows][kColumns] = {};
      for (int key = 0; key < kTile; ++key) {
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
#pragma unroll
          for (int c = 0; c < kColumns; ++c) {
            float& sum = Spec::long_sums ? tile_sums[i][c] : sums.O[i][slice * kColumns + c];
            sum += smem.p[kRows * ty + i][key] * smem.kv[key][tx + 16 * c];
          }
        }
      }
      if constexpr (Spec::long_sums) {
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
#pragma unroll
          for (int c = 0; c < kColumns; ++c) {
            float& sum = sums.O[i][slice * kColumns + c];
            sum = fmaf(sum, alpha[i], tile_sums[i][c]);
          }
        }
      }
    }
  }
  if constexpr (Spec::long_sums) before.add_to(sums);

  T* out = static_cast<T*>(p.out.data) + place.q_batch() * p.out.batch_stride +
           place.head * p.out.head_stride + first_row * p.out.row_stride;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const int row = kRows * ty + i;
    float sum = sum_over_row(sums.l[i]);
    float inverse = sum == 0 ? 0.0F : 1.0F / sum;  // no key seen: the output is 0
    if constexpr (Spec::general) {
      if (scores.sinks != nullptr) {
        const RowWithSink with_sink(m[i], sum, gpu::load_global(scores.sinks + place.head));
        m[i] = with_sink.max;
        sum = with_sink.sum;
        inverse = with_sink.factor;
      }
    }
    if (row >= rows) continue;
#pragma unroll
    for (int c = 0; c < Spec::slices * kColumns; ++c) {
      const int column = c / kColumns * kSlice + tx + 16 * (c % kColumns);
      if (column < p.head_dim)
        gpu::store_global(out + row * p.out.row_stride + column, gpu::narrow<T>(sums.O[i][c] * inverse));
    }
    if (tx == 0 && p.lse != nullptr) {
      gpu::store_global(p.lse + place.lse_row(row),
                        sum == 0 ? -INFINITY : (m[i] + log2f(sum)) * 0.6931471805599453F);
    }
  }
}

}  // namespace flashmoe::kernels::naive::inline FLASHMOE_TARGET
