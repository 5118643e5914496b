// SPDX-License-Identifier: MIT
// small_forward: attention over at most a few hundred keys, where the time is latency and not arithmetic.
//
// Bound: launch, one round trip to the L2 and the drain; every step in between is kept short.
// Roles: a CTA takes 8 packed query rows (row r is position r / group of head r % group) and all keys; its warps share
// the keys. Each warp copies its own K and V, computes S = Q K^T, P = exp2(S - m) and O^T = V^T P^T alone, without
// meeting the others; one barrier, and the partial outputs are merged.
// The two products are those of eight_rows.cuh.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/eight_rows.cuh"
#include "kernels/forward_params.h"
#include "kernels/small_forward/smem.h"
#include "kernels/small_forward/spec.h"
#include "primitives/barrier.h"
#include "primitives/convert.h"
#include "primitives/cp_async.h"
#include "primitives/dependent_launch.h"
#include "primitives/index.h"
#include "primitives/math.h"
#include "primitives/memory.h"
#include "primitives/shared.h"
#include "primitives/shuffle.h"

namespace flashmoe::kernels::small::inline FLASHMOE_TARGET {

// Where a warp and a lane stand: lane = 4 g + t, as the matrix instructions count.
struct Place {
  int warp, lane, g, t;
  int batch, kv_head;
  int first_row;  // packed row of the CTA's first query row
};

// Starts the copy of this warp's rows of K or V; rows and columns that do not exist become zeros.
template <class Spec, class Swizzle>
__device__ __forceinline__ void copy_rows(const typename Spec::Element* from, int64_t stride, int first_key, int keys,
                                                int head_dim, gpu::Chunk (*to)[Spec::tuning.chunks()], int lane,
                                                Swizzle place) {
  constexpr int kChunks = Spec::tuning.chunks();
  constexpr int kRowsAtOnce = 32 / kChunks;
  const int row = lane / kChunks;
  const int chunk = lane % kChunks;
  const typename Spec::Element* source = from + (first_key + row) * stride + 8 * chunk;
#pragma unroll
  for (int i = 0; i < Spec::tuning.keys_per_warp; i += kRowsAtOnce) {
    const uint32_t target = gpu::shared_address(&to[i + row][place(i + row, chunk)]);
    const bool there = Spec::tuning.exact || (first_key + i + row < keys && 8 * chunk < head_dim);
    gpu::cp_async_16(target, there ? source + i * stride : from, there ? 16 : 0);
  }
  gpu::cp_async_commit();
}

// O^T = V^T P^T over this warp's keys.
template <class Spec>
__device__ __forceinline__ void outputs(const uint32_t (&P)[Spec::tuning.keys_per_warp / 8],
                                              const typename Smem<Spec>::Warp& smem, const Place& at,
                                              float (&O)[Spec::tuning.head_dim / 16][4]) {
#pragma unroll
  for (auto& tile : O) tile[0] = tile[1] = tile[2] = tile[3] = 0.0F;
#pragma unroll
  for (int s = 0; s < Spec::tuning.keys_per_warp / 16; ++s) {
    add_p_v<typename Spec::Element, Spec::tuning.head_dim>(P[2 * s], P[2 * s + 1], smem.keys.v + 16 * s, at.g, at.t, O);
  }
}

// The warps' shares of unit `unit` (query row 2 t + x, columns 64 b + 8 g + 4 h and the next three), merged and stored.
template <class Spec>
__device__ __forceinline__ void merge(const ForwardParams& p, const Smem<Spec>& smem,
                                            const Place& at, int unit) {
  using T = typename Spec::Element;
  constexpr int kWarps = Spec::tuning.warps;
  const int b = unit / 4, x = unit / 2 % 2, h = unit % 2;
  const int row_in_tile = 2 * at.t + x;
  RowStats stats[kWarps];
  Float4 partial[kWarps];
#pragma unroll
  for (int w = 0; w < kWarps; ++w) stats[w] = smem.stats[row_in_tile][w];
#pragma unroll
  for (int w = 0; w < kWarps; ++w) partial[w] = smem.warp[w].partial[unit][at.lane];

  float m = stats[0].max;
#pragma unroll
  for (int w = 1; w < kWarps; ++w) m = fmaxf(m, stats[w].max);
  const float base = m == -INFINITY ? 0.0F : m;  // a row that sees no key: all weights become 0
  float l = 0;
  Float4 o{0, 0, 0, 0};
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    const float weight = gpu::ex2(stats[w].max - base);
    l = fmaf(weight, stats[w].sum, l);
    o = {fmaf(weight, partial[w].x, o.x), fmaf(weight, partial[w].y, o.y), fmaf(weight, partial[w].z, o.z),
         fmaf(weight, partial[w].w, o.w)};
  }
  const QueryRow row = query_row(p, at.first_row + row_in_tile);
  if (!row.real) return;
  const float inverse = l == 0 ? 0.0F : gpu::rcp(l);
  const int column = 64 * b + 8 * at.g + 4 * h;
  if (Spec::tuning.exact || column < p.head_dim) {
    T* out = static_cast<T*>(p.out.data) + at.batch * p.out.batch_stride +
             (at.kv_head * p.group + row.head) * p.out.head_stride + row.position * p.out.row_stride + column;
    gpu::store_global(reinterpret_cast<gpu::HalfChunk*>(out),
                      gpu::HalfChunk{gpu::pack<T>(o.x * inverse, o.y * inverse), gpu::pack<T>(o.z * inverse, o.w * inverse)});
  }
  if (p.lse != nullptr && at.g == 0 && b == 0 && h == 0) {
    const int64_t head = int64_t{at.batch} * p.q_heads + at.kv_head * p.group + row.head;
    gpu::store_global(p.lse + head * p.q_rows + row.position, (m + gpu::lg2(l)) * 0.693147180559945309F);
  }
}

template <class Spec>
__global__ void __launch_bounds__(Spec::tuning.threads()) small_forward(const __grid_constant__ ForwardParams p, bool programmatic) {
  using T = typename Spec::Element;
  constexpr Tuning kTuning = Spec::tuning;
  constexpr int kTiles = kTuning.keys_per_warp / 8;
  auto& smem = gpu::shared<Smem<Spec>>();

  const int lane = gpu::lane_index();
  const int warp = gpu::thread_index() / 32;
  const int kv_index = static_cast<int>(gpu::block_index_y());
  const int kv_heads = p.order.heads;
  const int batch = kv_heads == 1 ? kv_index : kv_index / kv_heads;
  const Place at{.warp = warp, .lane = lane, .g = lane / 4, .t = lane % 4, .batch = batch,
                      .kv_head = kv_index - batch * kv_heads,
                      .first_row = static_cast<int>(gpu::block_index()) * kRows};
  auto& own = smem.warp[at.warp];
  const int first_key = at.warp * kTuning.keys_per_warp;

  if (programmatic) gpu::wait_for_previous_kernel();
  const T* k = static_cast<const T*>(p.k.data) + at.batch * p.k.batch_stride + at.kv_head * p.k.head_stride;
  const T* v = static_cast<const T*>(p.v.data) + at.batch * p.v.batch_stride + at.kv_head * p.v.head_stride;
  copy_rows<Spec>(k, p.k.row_stride, first_key, p.kv_rows, p.head_dim, own.keys.k, at.lane, k_place);

  // Q straight into fragments, while K is on its way.
  const QueryRow row = query_row(p, at.first_row + at.g);
  const T* q_row = static_cast<const T*>(p.q.data) + at.batch * p.q.batch_stride +
                   (at.kv_head * p.group + row.head) * p.q.head_stride + row.position * p.q.row_stride;
  gpu::Chunk q[kTuning.head_dim / 32];
#pragma unroll
  for (int j = 0; j < kTuning.head_dim / 32; ++j) {
    const int column = 32 * j + 8 * at.t;
    const bool there = row.real && (kTuning.exact || column < p.head_dim);
    q[j] = there ? gpu::load_global(reinterpret_cast<const gpu::Chunk*>(q_row + column)) : gpu::Chunk{0, 0, 0, 0};
  }
  copy_rows<Spec>(v, p.v.row_stride, first_key, p.kv_rows, p.head_dim, own.keys.v, at.lane, v_place);
  if (programmatic) gpu::let_next_kernel_start();

  gpu::cp_async_wait<1>();
  gpu::sync_warp();
  float S[kTiles][4];
  multiply_q_k<T, kTuning.head_dim>(q, own.keys.k, at.g, at.t, S);

  if constexpr (!kTuning.exact) {
    const int visible = p.visible_keys(row.position) - first_key - 2 * at.t;
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      if (8 * n >= visible) S[n][0] = -INFINITY;
      if (8 * n + 1 >= visible) S[n][1] = -INFINITY;
    }
  }
  float m = fmaxf(S[0][0], S[0][1]);
#pragma unroll
  for (int n = 1; n < kTiles; ++n) m = fmaxf(m, fmaxf(S[n][0], S[n][1]));
  m = fmaxf(m, gpu::shuffle_xor(m, 1));
  m = fmaxf(m, gpu::shuffle_xor(m, 2));
  m *= p.scale_log2e;
  const float base = !kTuning.exact && m == -INFINITY ? 0.0F : m;

  float l = 0;
  uint32_t P[kTiles];
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    const float p0 = gpu::ex2(fmaf(S[n][0], p.scale_log2e, -base));
    const float p1 = gpu::ex2(fmaf(S[n][1], p.scale_log2e, -base));
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

  constexpr int kUnitsPerWarp = Smem<Spec>::kUnits > kTuning.warps ? Smem<Spec>::kUnits / kTuning.warps : 1;
  if (at.warp * kUnitsPerWarp >= Smem<Spec>::kUnits) return;
#pragma unroll
  for (int i = 0; i < kUnitsPerWarp; ++i) merge<Spec>(p, smem, at, at.warp * kUnitsPerWarp + i);
}

}  // namespace flashmoe::kernels::small::inline FLASHMOE_TARGET
