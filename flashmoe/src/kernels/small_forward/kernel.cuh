// SPDX-License-Identifier: MIT
// small_forward: attention over at most a few hundred keys, where the time is latency and not arithmetic.
//
// Bound: launch, one round trip to the L2 and the drain; every step in between is kept short.
// Roles: a CTA takes 8 packed query rows (row r is position r / group of head r % group) and all keys; its
// warps share the keys. Each warp copies its own K and V, computes S = Q K^T, P = exp2(S - m) and O^T = V^T
// P^T alone, without meeting the others; one barrier, and the partial outputs are merged.
//
// Two liberties make it cheap. The order of a contraction is free, so a lane feeds 8 consecutive elements of
// a row to two matrix instructions: fragments of Q and K are 16-byte loads. And O^T takes the scores as they
// lie in the accumulators as its B operand, and leaves each lane with 8 consecutive output columns.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/small_forward/params.h"
#include "kernels/small_forward/smem.h"
#include "kernels/small_forward/spec.h"
#include "primitives/arithmetic.h"
#include "primitives/barrier.h"
#include "primitives/control.h"
#include "primitives/cp_async.h"
#include "primitives/index.h"
#include "primitives/memory.h"
#include "primitives/registers.h"
#include "primitives/shared.h"
#include "primitives/shuffle.h"
#include "primitives/warp_matrix.h"

namespace flashmoe::kernels::small::inline FLASHMOE_TARGET {

// Where a warp and a lane stand: lane = 4 g + t, as the matrix instructions count.
struct Place {
  int warp, lane, g, t;
  int first_row;  // packed row of the CTA's first query row
  int kv;         // batch * kv_heads + kv_head
  int batch, kv_head;
};

template <class Spec>
__device__ __forceinline__ Place find_place(const typename Spec::Params& p) {
  const int lane = gpu::lane_index();
  Place at{.warp = gpu::thread_index() / 32,
           .lane = lane,
           .g = lane / 4,
           .t = lane % 4,
           .first_row = static_cast<int>(gpu::block_index()) * kRows,
           .kv = static_cast<int>(gpu::block_index_y()),
           .batch = 0,
           .kv_head = 0};
  if constexpr (!Spec::plain) {
    at.batch = p.batch == 1 ? 0 : at.kv / p.kv_heads;
    at.kv_head = at.kv - at.batch * p.kv_heads;
  }
  return at;
}

template <class Spec>
__device__ __forceinline__ QueryRow query_row(const typename Spec::Params& p, int row) {
  if constexpr (Spec::plain) {
    return {row, 0, true};
  } else {
    const auto position = static_cast<int>(p.by_group.divide(static_cast<uint32_t>(row)));
    return {position, row - position * p.group, position < p.q_rows};
  }
}

// Where a row of q or out begins.
template <class Spec, class Tensor>
__device__ __forceinline__ typename Spec::Element* find_row(const typename Spec::Params& p,
                                                            const Tensor& tensor, const Place& at,
                                                            const QueryRow& row) {
  auto* data = static_cast<typename Spec::Element*>(tensor.data);
  if constexpr (Spec::plain) {
    return data + static_cast<int64_t>(at.kv * p.q_rows + row.position) * Spec::tuning.head_dim;
  } else {
    return data + at.batch * tensor.batch_stride + (at.kv_head * p.group + row.head) * tensor.head_stride +
           row.position * tensor.row_stride;
  }
}

// Where this K/V head of k or v begins.
template <class Spec, class Tensor>
__device__ __forceinline__ const typename Spec::Element* find_head(const Tensor& tensor, const Place& at) {
  const auto* data = static_cast<const typename Spec::Element*>(tensor.data);
  if constexpr (Spec::plain) {
    return data + int64_t{at.kv} * (Spec::tuning.max_keys() * Spec::tuning.head_dim);
  } else {
    return data + at.batch * tensor.batch_stride + at.kv_head * tensor.head_stride;
  }
}

__device__ __forceinline__ uint32_t word(const gpu::Chunk& chunk, int i) {
  return i == 0 ? chunk.x : i == 1 ? chunk.y : i == 2 ? chunk.z : chunk.w;
}

// Starts the copy of this warp's rows of K or V; rows and columns that do not exist become zeros.
template <class Spec, class Swizzle>
__device__ __forceinline__ void copy_rows(const typename Spec::Element* from, int64_t row_stride,
                                          int first_key, int keys, int head_dim,
                                          gpu::Chunk (*to)[Spec::tuning.chunks()], int lane, Swizzle place) {
  constexpr int kChunks = Spec::tuning.chunks();
  constexpr int kRowsAtOnce = 32 / kChunks;
  const int row = lane / kChunks;
  const int chunk = lane % kChunks;
  const int64_t stride = Spec::plain ? Spec::tuning.head_dim : row_stride;
  const typename Spec::Element* source = from + (first_key + row) * stride + 8 * chunk;
  const int left =
      8 * chunk < head_dim ? keys - first_key - row : 0;  // rows that exist, from this lane's first on
#pragma unroll
  for (int i = 0; i < Spec::tuning.keys_per_warp; i += kRowsAtOnce) {
    const uint32_t target = gpu::shared_address(&to[i + row][place(i + row, chunk)]);
    gpu::cp_async_16(target, source + i * stride, Spec::plain || i < left);
  }
}

// S = Q K^T for this warp's keys: lane (g, t) gets of row g the keys 8 n + 2 t and the next.
template <class Spec>
__device__ __forceinline__ void scores(const typename Smem<Spec>::Warp& smem, const Place& at,
                                       float (&S)[Spec::tuning.keys_per_warp / 8][4]) {
#pragma unroll
  for (auto& tile : S) tile[0] = tile[1] = tile[2] = tile[3] = 0.0F;
#pragma unroll
  for (int j = 0; j < Spec::tuning.head_dim / 32; ++j) {
    const gpu::Chunk q = smem.keys.q[j][at.lane];
    const uint32_t low[4] = {q.x, 0, q.y, 0};  // rows 8 to 15 of the instruction stay empty
    const uint32_t high[4] = {q.z, 0, q.w, 0};
#pragma unroll
    for (int n = 0; n < Spec::tuning.keys_per_warp / 8; ++n) {
      const gpu::Chunk k = smem.keys.k[8 * n + at.g][Smem<Spec>::k_place(at.g, 4 * j + at.t)];
      gpu::mma_m16n8k16<typename Spec::Element>(S[n], low, k.x, k.y);
      gpu::mma_m16n8k16<typename Spec::Element>(S[n], high, k.z, k.w);
    }
  }
}

// O^T += V^T P^T: O[i] holds, for query rows 2 t and 2 t + 1, columns 64 (i / 4) + 8 g + 2 (i % 4) and the
// next.
template <class Spec>
__device__ __forceinline__ void outputs(const uint32_t (&P)[Spec::tuning.keys_per_warp / 8],
                                        const typename Smem<Spec>::Warp& smem, const Place& at,
                                        float (&O)[Spec::tuning.head_dim / 16][4]) {
#pragma unroll
  for (auto& tile : O) tile[0] = tile[1] = tile[2] = tile[3] = 0.0F;
#pragma unroll
  for (int s = 0; s < Spec::tuning.keys_per_warp / 16; ++s) {
    const int row = 16 * s + 2 * at.t;
#pragma unroll
    for (int b = 0; b < Spec::tuning.head_dim / 64; ++b) {
      const int place = Smem<Spec>::v_place(row, 8 * b + at.g);  // the same for all four rows
      const gpu::Chunk v0 = smem.keys.v[row][place], v1 = smem.keys.v[row + 1][place];
      const gpu::Chunk v8 = smem.keys.v[row + 8][place], v9 = smem.keys.v[row + 9][place];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const uint32_t a[4] = {
            gpu::low_halves(word(v0, j), word(v1, j)), gpu::high_halves(word(v0, j), word(v1, j)),
            gpu::low_halves(word(v8, j), word(v9, j)), gpu::high_halves(word(v8, j), word(v9, j))};
        gpu::mma_m16n8k16<typename Spec::Element>(O[4 * b + j], a, P[2 * s], P[2 * s + 1]);
      }
    }
  }
}

// What a thread stores at the end, known at the start: unit `unit` of the output tile is query row 2 t + x,
// columns 64 b + 8 g + 4 h and the next three.
template <class Spec>
struct Share {
  int unit, row_in_tile;
  QueryRow row;
  typename Spec::Element* out;

  __device__ __forceinline__ Share(const typename Spec::Params& p, const Place& at, int unit_)
      : unit(unit_),
        row_in_tile(2 * at.t + unit / 2 % 2),
        row(query_row<Spec>(p, at.first_row + row_in_tile)),
        out(find_row<Spec>(p, p.out, at, row) + column(at)) {}

  __device__ __forceinline__ int column(const Place& at) const {
    return 64 * (unit / 4) + 8 * at.g + 4 * (unit % 2);
  }
};

// The warps' parts of a share, merged and stored.
template <class Spec>
__device__ __forceinline__ void merge(const typename Spec::Params& p, const Smem<Spec>& smem, const Place& at,
                                      const Share<Spec>& share) {
  using T = typename Spec::Element;
  constexpr int kWarps = Spec::tuning.warps;
  RowStats stats[kWarps];
  Float4 partial[kWarps];
#pragma unroll
  for (int w = 0; w < kWarps; ++w) stats[w] = smem.stats[share.row_in_tile][w];
#pragma unroll
  for (int w = 0; w < kWarps; ++w) partial[w] = smem.warp[w].partial[share.unit][at.lane];

  float m = stats[0].max;
#pragma unroll
  for (int w = 1; w < kWarps; ++w) m = fmaxf(m, stats[w].max);
  const float base =
      !Spec::plain && m == -INFINITY ? 0.0F : m;  // a row that sees no key: all weights become 0
  float l = 0;
  Float4 o{0, 0, 0, 0};
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    const float weight = gpu::ex2(stats[w].max - base);
    l = fmaf(weight, stats[w].sum, l);
    o = {fmaf(weight, partial[w].x, o.x), fmaf(weight, partial[w].y, o.y), fmaf(weight, partial[w].z, o.z),
         fmaf(weight, partial[w].w, o.w)};
  }
  if (!share.row.real) return;
  const float inverse = l == 0 ? 0.0F : gpu::rcp(l);
  if (Spec::plain || share.column(at) < p.head_dim) {
    gpu::store_global(reinterpret_cast<gpu::HalfChunk*>(share.out),
                      gpu::HalfChunk{gpu::pack<T>(o.x * inverse, o.y * inverse),
                                     gpu::pack<T>(o.z * inverse, o.w * inverse)});
  }
  if (p.lse != nullptr && share.column(at) == 0) {
    const int64_t head = int64_t{at.kv} * p.group + share.row.head;
    gpu::store_global(p.lse + head * p.q_rows + share.row.position,
                      (m + gpu::lg2(l)) * 0.693147180559945309F);
  }
}

template <class Spec>
__device__ __forceinline__ void attend(const typename Spec::Params& p) {
  using T = typename Spec::Element;
  constexpr Tuning kTuning = Spec::tuning;
  constexpr int kTiles = kTuning.keys_per_warp / 8;
  auto& smem = gpu::shared<Smem<Spec>>();

  const Place at = find_place<Spec>(p);
  auto& own = smem.warp[at.warp];
  const int first_key = at.warp * kTuning.keys_per_warp;

  if (p.programmatic) gpu::griddepcontrol_wait();
  copy_rows<Spec>(find_head<Spec>(p.k, at), p.k.row_stride, first_key, p.kv_rows, p.head_dim, own.keys.k,
                  at.lane, Smem<Spec>::k_place);

  // Q with K and before V: a plain load would be moved behind both, and the scores would wait for all of V.
  const QueryRow row = query_row<Spec>(p, at.first_row + at.g);
  const T* q_row = find_row<Spec>(p, p.q, at, row);
#pragma unroll
  for (int j = 0; j < kTuning.head_dim / 32; ++j) {
    const int column = 32 * j + 8 * at.t;
    gpu::cp_async_16(gpu::shared_address(&own.keys.q[j][at.lane]), q_row + column,
                     Spec::plain || (row.real && column < p.head_dim));
  }
  gpu::cp_async_commit();
  copy_rows<Spec>(find_head<Spec>(p.v, at), p.v.row_stride, first_key, p.kv_rows, p.head_dim, own.keys.v,
                  at.lane, Smem<Spec>::v_place);
  gpu::cp_async_commit();
  if (p.programmatic) gpu::griddepcontrol_launch_dependents();

  // Who stores what, worked out while the copies are under way.
  constexpr int kUnitsPerWarp = Smem<Spec>::kUnits > kTuning.warps ? Smem<Spec>::kUnits / kTuning.warps : 1;
  const Share<Spec> share(p, at, at.warp * kUnitsPerWarp);

  gpu::cp_async_wait<1>();
  gpu::sync_warp();
  float S[kTiles][4];
  scores<Spec>(own, at, S);

  if constexpr (!Spec::plain) {
    const int visible = p.visible_keys(row.position) - first_key - 2 * at.t;
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      if (8 * n >= visible) S[n][0] = -INFINITY;
      if (8 * n + 1 >= visible) S[n][1] = -INFINITY;
    }
  }
  // Products are rounded before the maximum is subtracted: however large, it then meets itself.
#pragma unroll
  for (auto& tile : S) {
    tile[0] = gpu::mul_rn(tile[0], p.scale_log2e);
    tile[1] = gpu::mul_rn(tile[1], p.scale_log2e);
  }
  float m = fmaxf(S[0][0], S[0][1]);
#pragma unroll
  for (int n = 1; n < kTiles; ++n) m = fmaxf(m, fmaxf(S[n][0], S[n][1]));
  m = fmaxf(m, gpu::shuffle_xor(m, 1));
  m = fmaxf(m, gpu::shuffle_xor(m, 2));
  const float base = !Spec::plain && m == -INFINITY ? 0.0F : m;

  float l = 0;
  uint32_t P[kTiles];
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    const float p0 = gpu::ex2(S[n][0] - base);
    const float p1 = gpu::ex2(S[n][1] - base);
    l += p0 + p1;
    P[n] = gpu::pack<T>(p0, p1);
  }

  gpu::cp_async_wait<0>();
  gpu::sync_warp();
  float O[kTuning.head_dim / 16][4];
  outputs<Spec>(P, own, at, O);
  l += gpu::shuffle_xor(l, 1);
  l += gpu::shuffle_xor(l, 2);
  if (at.t == 0) smem.stats[at.g][at.warp] = {m, l};

  gpu::sync_warp();  // every lane is done with K and V: their place takes the partial output
#pragma unroll
  for (int unit = 0; unit < Smem<Spec>::kUnits; ++unit) {
    const int b = unit / 4, x = unit / 2 % 2, h = unit % 2;
    const int i = 4 * b + 2 * h;
    own.partial[unit][at.lane] = {O[i][x], O[i][x + 2], O[i + 1][x], O[i + 1][x + 2]};
  }
  gpu::sync_block();

  if (at.warp * kUnitsPerWarp >= Smem<Spec>::kUnits) return;
  merge<Spec>(p, smem, at, share);
#pragma unroll
  for (int i = 1; i < kUnitsPerWarp; ++i)
    merge<Spec>(p, smem, at, Share<Spec>(p, at, at.warp * kUnitsPerWarp + i));
}

template <class Spec>
__global__ void __launch_bounds__(Spec::tuning.threads(), 1)
    small_forward(const __grid_constant__ typename Spec::Params p) {
  attend<Spec>(p);
}

}  // namespace flashmoe::kernels::small::inline FLASHMOE_TARGET
