// SPDX-License-Identifier: MIT
// decode_forward: up to eight packed query rows (row r is position r / group of head r % group) against any
// number of keys. One new token per sequence, or a few.
//
// Bound: memory. K and V of every head are read once, 4 * kv_rows * head_dim bytes; with few keys, latency.
// Roles: the keys of a K/V head are shared by splits, by the blocks of a cluster, and by the warps of a
// block. Each warp runs alone: it copies chunks of 16 keys into a ring of its own; holds the scores of a
// block of keys in registers, K chunk after K chunk; makes weights of them; and adds V chunk after V chunk. A
// block of keys later it rescales. Merge: warps through shared memory; blocks of a cluster by stores into
// each other's shared memory, where each merges one slice of the output columns; splits through partial
// results and combine_splits.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/decode_forward/smem.h"
#include "kernels/decode_forward/spec.h"
#include "kernels/eight_rows.cuh"
#include "kernels/forward_params.h"
#include "primitives/barrier.h"
#include "primitives/cluster.h"
#include "primitives/convert.h"
#include "primitives/cp_async.h"
#include "primitives/dependent_launch.h"
#include "primitives/index.h"
#include "primitives/math.h"
#include "primitives/mbarrier.h"
#include "primitives/memory.h"
#include "primitives/shared.h"
#include "primitives/shuffle.h"

namespace flashmoe::kernels::decode::inline FLASHMOE_TARGET {

// How the work is shared, worked out by the host so that no thread divides before its first load.
struct Share {
  int rows;           // packed query rows: group * q_rows
  int keys;           // that any row sees
  int keys_per_warp;  // a multiple of kChunkKeys
  bool programmatic;
};

// Which keys a warp has, and which of them every row sees.
struct Range {
  int first, end;
  int seen_by_all;  // keys before this one need no mask
};

// K and V as one lane copies them: pointers to its chunk of the first row that it copies.
template <class T>
struct Sources {
  const T *k, *v;
  int64_t k_stride, v_stride;
  int left;  // rows from there to the range's end; 0 or less: nothing to copy, zeros instead
};

template <class Spec, class Swizzle>
__device__ __forceinline__ void copy_chunk(const typename Spec::Element* from, int64_t stride, int left,
                                           gpu::Chunk (*to)[Spec::tuning.chunks()], int lane, Swizzle place) {
  constexpr int kChunks = Spec::tuning.chunks();
  const int row = lane / kChunks;
  const int chunk = lane % kChunks;
#pragma unroll
  for (int i = 0; i < kChunkKeys; i += 32 / kChunks) {
    const uint32_t target = gpu::shared_address(&to[i + row][place(i + row, chunk)]);
    gpu::cp_async_16(target, from + i * stride, i < left ? 16 : 0);  // nothing is read for 0 bytes
  }
}

// Starts the copy of step `step`: first the K chunks of a block of keys, then its V chunks. Steps go on into
// the next block.
template <class Spec>
__device__ __forceinline__ void copy_step(const Sources<typename Spec::Element>& from, int step,
                                          typename Smem<Spec>::Warp& own, int lane) {
  constexpr Tuning kTuning = Spec::tuning;
  constexpr int kHalf = kTuning.steps() / 2;
  const int in_block = step % kTuning.steps();
  const int key = step / kTuning.steps() * kTuning.block_keys + in_block % kHalf * kChunkKeys;
  auto* to = own.ring[step % kTuning.ring];
  if (in_block < kHalf) {
    copy_chunk<Spec>(from.k + key * from.k_stride, from.k_stride, from.left - key, to, lane, k_place);
  } else {
    copy_chunk<Spec>(from.v + key * from.v_stride, from.v_stride, from.left - key, to, lane, v_place);
  }
}

// The running softmax of a warp: row g's maximum and this lane's share of its sum; O as add_p_v leaves it.
// Invariant: m is -inf only while the row has seen no key; then l and O are 0.
template <class Spec>
struct Running {
  static constexpr int kTiles = Spec::tuning.block_keys / 8;
  float m = -INFINITY;  // in units of log2
  float l = 0;
  float O[Spec::tuning.head_dim / 16][4] = {};
  uint32_t P[kTiles];  // weights of the block of keys at hand

  // Makes weights of the scores of one block of keys. `seen`: keys of it that row g sees, less 2 t.
  __device__ __forceinline__ void absorb(float (&S)[kTiles / 2][2][4], float scale_log2e, bool mask, int seen,
                                         int t) {
    using T = typename Spec::Element;
    if (mask) {
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
        if (8 * n >= seen) S[n / 2][n % 2][0] = -INFINITY;
        if (8 * n + 1 >= seen) S[n / 2][n % 2][1] = -INFINITY;
      }
    }
    float largest = fmaxf(S[0][0][0], S[0][0][1]);
#pragma unroll
    for (int n = 1; n < kTiles; ++n) largest = fmaxf(largest, fmaxf(S[n / 2][n % 2][0], S[n / 2][n % 2][1]));
    largest = fmaxf(largest, gpu::shuffle_xor(largest, 1));
    largest = fmaxf(largest, gpu::shuffle_xor(largest, 2));
    largest *= scale_log2e;

    const float before = m;
    m = Spec::tuning.once ? largest : fmaxf(m, largest);
    const float base = m == -INFINITY ? 0.0F : m;
    if constexpr (!Spec::tuning.once) rescale(gpu::ex2(before - base), t);
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      const float p0 = gpu::ex2(fmaf(S[n / 2][n % 2][0], scale_log2e, -base));
      const float p1 = gpu::ex2(fmaf(S[n / 2][n % 2][1], scale_log2e, -base));
      l += p0 + p1;
      P[n] = gpu::pack<T>(p0, p1);
    }
  }

  // Row g's factor is here; O has rows 2 t and 2 t + 1.
  __device__ __forceinline__ void rescale(float factor, int t) {
    l *= factor;
    const float even = gpu::shuffle(factor, 8 * t);
    const float odd = gpu::shuffle(factor, 8 * t + 4);
#pragma unroll
    for (auto& tile : O) {
      tile[0] *= even;
      tile[1] *= odd;
      tile[2] *= even;
      tile[3] *= odd;
    }
  }
};

// All keys of this warp, from copies to weights to output.
template <class Spec>
__device__ __forceinline__ void attend(const ForwardParams& p, Sources<typename Spec::Element> from,
                                       const Range& range, const gpu::Chunk (&q)[Spec::tuning.head_dim / 32],
                                       int row_sees, typename Smem<Spec>::Warp& own, int lane,
                                       Running<Spec>& running) {
  using T = typename Spec::Element;
  constexpr Tuning kTuning = Spec::tuning;
  constexpr int kSteps = kTuning.steps();
  const int g = lane / 4, t = lane % 4;
  for (int first = range.first;; first += kTuning.block_keys) {
    const bool more = !kTuning.once && first + kTuning.block_keys < range.end;
    float S[kSteps / 2][2][4];
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      gpu::cp_async_wait<kTuning.ring - 1>();
      gpu::sync_warp();
      const auto* chunk = own.ring[step % kTuning.ring];
      if (step < kSteps / 2) {
        multiply_q_k<T, kTuning.head_dim>(q, chunk, g, t, S[step]);
      } else {
        if (step == kSteps / 2) {
          const bool mask = first + kTuning.block_keys > range.seen_by_all;
          running.absorb(S, p.scale_log2e, mask, row_sees - first - 2 * t, t);
        }
        const int tile = 2 * step - kSteps;
        add_p_v<T, kTuning.head_dim>(running.P[tile], running.P[tile + 1], chunk, g, t, running.O);
      }
      if (step + kTuning.ring < kSteps || more) {
        gpu::sync_warp();  // every lane is done with the slot
        copy_step<Spec>(from, step + kTuning.ring, own, lane);
      }
      gpu::cp_async_commit();
    }
    if (!more) break;
    from.k += kTuning.block_keys * from.k_stride;
    from.v += kTuning.block_keys * from.v_stride;
    from.left -= kTuning.block_keys;
  }
}

// A share of four output columns of a row, or several shares in one.
struct Merged {
  Float4 o;
  RowStats stats;
};

template <int kShares>
__device__ __forceinline__ Merged merge(const RowStats (&stats)[kShares], const Float4 (&partial)[kShares]) {
  float m = stats[0].max;
#pragma unroll
  for (int i = 1; i < kShares; ++i) m = fmaxf(m, stats[i].max);
  const float base = m == -INFINITY ? 0.0F : m;  // a row that sees no key: all weights become 0
  Merged all{{0, 0, 0, 0}, {m, 0}};
#pragma unroll
  for (int i = 0; i < kShares; ++i) {
    const float weight = gpu::ex2(stats[i].max - base);
    all.stats.sum = fmaf(weight, stats[i].sum, all.stats.sum);
    all.o = {fmaf(weight, partial[i].x, all.o.x), fmaf(weight, partial[i].y, all.o.y),
             fmaf(weight, partial[i].z, all.o.z), fmaf(weight, partial[i].w, all.o.w)};
  }
  return all;
}

// Position and head of packed row `row`, which exists. The usual case, one position, takes no division.
__device__ __forceinline__ QueryRow packed_row(const ForwardParams& p, int row) {
  const int position = p.q_rows == 1 ? 0 : row / p.group;
  return {position, row - position * p.group, true};
}

// Normalises columns 4 c to 4 c + 3 of a row and stores them: as output, or as one split's share.
template <class Spec>
__device__ __forceinline__ void store(const ForwardParams& p, int split, int row, int c,
                                      const Merged& merged) {
  using T = typename Spec::Element;
  const int column = 4 * c;
  const auto batch = static_cast<int>(gpu::block_index_z());
  const QueryRow query = packed_row(p, row);
  const int head = static_cast<int>(gpu::block_index_y()) * p.group + query.head;
  const float l = merged.stats.sum;
  const float inverse = l == 0 ? 0.0F : gpu::rcp(l);
  const Float4 o{merged.o.x * inverse, merged.o.y * inverse, merged.o.z * inverse, merged.o.w * inverse};
  const int64_t index =
      (int64_t{batch} * p.q_heads + head) * p.q_rows + query.position;  // of the row, among all
  if (p.num_splits > 1) {
    const int64_t at = int64_t{split} * p.order.batch * p.q_heads * p.q_rows + index;
    gpu::store_global(reinterpret_cast<Float4*>(p.partial_out + at * Spec::tuning.head_dim + column), o);
    if (c == 0) gpu::store_global(p.partial_lse + at, merged.stats.max + gpu::lg2(l));
    return;
  }
  if (column < p.head_dim) {
    T* out = static_cast<T*>(p.out.data) + batch * p.out.batch_stride + head * p.out.head_stride +
             query.position * p.out.row_stride + column;
    gpu::store_global(reinterpret_cast<gpu::HalfChunk*>(out),
                      gpu::HalfChunk{gpu::pack<T>(o.x, o.y), gpu::pack<T>(o.z, o.w)});
  }
  if (c == 0 && p.lse != nullptr) {
    gpu::store_global(p.lse + index, (merged.stats.max + gpu::lg2(l)) * 0.693147180559945309F);
  }
}

// Tells the warp's result to the block.
template <class Spec>
__device__ __forceinline__ void publish(const Running<Spec>& running, int rows, int warp, int lane,
                                        Smem<Spec>& smem) {
  const int g = lane / 4, t = lane % 4;
  float l = running.l;
  l += gpu::shuffle_xor(l, 1);
  l += gpu::shuffle_xor(l, 2);
  if (t == 0 && g < rows) smem.stats[g][warp] = {running.m, l};
  gpu::sync_warp();  // every lane is done with the ring: its place takes the partial output
#pragma unroll
  for (int x = 0; x < 2; ++x) {
    const int row = 2 * t + x;
    if (row >= rows) continue;
#pragma unroll
    for (int i = 0; i < Spec::tuning.head_dim / 16; i += 2) {
      const int c = 16 * (i / 4) + 2 * g + i / 2 % 2;
      const auto& O = running.O;
      smem.warp[warp].partial[row][Smem<Spec>::partial_place(row, c)] = {O[i][x], O[i][x + 2], O[i + 1][x],
                                                                         O[i + 1][x + 2]};
    }
  }
}

// The warps' shares of columns 4 c to 4 c + 3 of a row.
template <class Spec>
__device__ __forceinline__ Merged merge_warps(const Smem<Spec>& smem, int row, int c) {
  constexpr int kWarps = Spec::tuning.warps;
  RowStats stats[kWarps];
  Float4 partial[kWarps];
#pragma unroll
  for (int w = 0; w < kWarps; ++w) stats[w] = smem.stats[row][w];
#pragma unroll
  for (int w = 0; w < kWarps; ++w) partial[w] = smem.warp[w].partial[row][Smem<Spec>::partial_place(row, c)];
  return merge(stats, partial);
}

// One block's share goes to the block of the cluster that merges these columns, its maximum and sum to every
// block.
template <class Spec>
__device__ __forceinline__ void send(Smem<Spec>& smem, uint32_t rank, int row, int c, const Merged& merged) {
  constexpr Tuning kTuning = Spec::tuning;
  const uint32_t all_here = gpu::shared_address(&smem.all_here);
  const auto owner = static_cast<uint32_t>(c / kTuning.slice());
  const float o[4] = {merged.o.x, merged.o.y, merged.o.z, merged.o.w};
  gpu::st_async_16(gpu::mapa(gpu::shared_address(&smem.partial[rank][row][c % kTuning.slice()]), owner), o,
                   gpu::mapa(all_here, owner));
  if (c < kTuning.cluster) {
    const auto peer = static_cast<uint32_t>(c);
    const float stats[2] = {merged.stats.max, merged.stats.sum};
    gpu::st_async_8(gpu::mapa(gpu::shared_address(&smem.Gathered<Spec, true>::stats[row][rank]), peer), stats,
                    gpu::mapa(all_here, peer));
  }
}

template <class Spec>
__device__ __forceinline__ Merged merge_blocks(const Smem<Spec>& smem, int row, int c) {
  constexpr int kCluster = Spec::tuning.cluster;
  RowStats stats[kCluster];
  Float4 partial[kCluster];
#pragma unroll
  for (int b = 0; b < kCluster; ++b) stats[b] = smem.Gathered<Spec, true>::stats[row][b];
#pragma unroll
  for (int b = 0; b < kCluster; ++b) partial[b] = smem.partial[b][row][c];
  return merge(stats, partial);
}

// Each block merges its slice of the output columns from the shares of all.
template <class Spec>
__device__ __forceinline__ void merge_cluster(const ForwardParams& p, const Share& share, Smem<Spec>& smem) {
  constexpr Tuning kTuning = Spec::tuning;
  constexpr int kColumns = kTuning.head_dim / 4;
  const uint32_t rank = gpu::cluster_rank();
  gpu::cluster_wait();  // every peer's mbarrier is ready
  for (int unit = gpu::thread_index(); unit < share.rows * kColumns; unit += kTuning.threads()) {
    const int row = unit / kColumns, c = unit % kColumns;
    send<Spec>(smem, rank, row, c, merge_warps<Spec>(smem, row, c));
  }
  const int split = static_cast<int>(gpu::block_index()) / kTuning.cluster;
  for (int unit = gpu::thread_index(); unit < share.rows * kTuning.slice(); unit += kTuning.threads()) {
    // Whoever waits keeps the block, and so its shared memory, until the last peer has written.
    gpu::mbarrier_wait(gpu::shared_address(&smem.all_here), 0);
    const int row = unit / kTuning.slice(), c = unit % kTuning.slice();
    store<Spec>(p, split, row, static_cast<int>(rank) * kTuning.slice() + c,
                merge_blocks<Spec>(smem, row, c));
  }
}

template <class Spec>
__device__ __forceinline__ void merge_block(const ForwardParams& p, const Share& share,
                                            const Smem<Spec>& smem) {
  constexpr int kColumns = Spec::tuning.head_dim / 4;
  for (int unit = gpu::thread_index(); unit < share.rows * kColumns; unit += Spec::tuning.threads()) {
    const int row = unit / kColumns, c = unit % kColumns;
    store<Spec>(p, static_cast<int>(gpu::block_index()), row, c, merge_warps<Spec>(smem, row, c));
  }
}

template <class Spec>
__device__ __forceinline__ void decode(const ForwardParams& p, const Share& share) {
  using T = typename Spec::Element;
  constexpr Tuning kTuning = Spec::tuning;
  auto& smem = gpu::shared<Smem<Spec>>();
  const int lane = gpu::lane_index();
  const int warp = gpu::thread_index() / 32;
  const int g = lane / 4, t = lane % 4;
  const auto batch = static_cast<int>(gpu::block_index_z());
  const auto kv_head = static_cast<int>(gpu::block_index_y());
  auto& own = smem.warp[warp];

  if (share.programmatic) gpu::wait_for_previous_kernel();
  Range range{};
  range.first = (static_cast<int>(gpu::block_index()) * kTuning.warps + warp) * share.keys_per_warp;
  range.end = range.first + share.keys_per_warp < share.keys ? range.first + share.keys_per_warp : share.keys;
  const int copy_row = lane / kTuning.chunks();
  const int copy_column = 8 * (lane % kTuning.chunks());
  const Sources<T> from{
      static_cast<const T*>(p.k.data) + batch * p.k.batch_stride + kv_head * p.k.head_stride +
          (range.first + copy_row) * p.k.row_stride + copy_column,
      static_cast<const T*>(p.v.data) + batch * p.v.batch_stride + kv_head * p.v.head_stride +
          (range.first + copy_row) * p.v.row_stride + copy_column,
      p.k.row_stride, p.v.row_stride, copy_column < p.head_dim ? range.end - range.first - copy_row : 0};
#pragma unroll
  for (int step = 0; step < kTuning.ring; ++step) {
    copy_step<Spec>(from, step, own, lane);
    gpu::cp_async_commit();
  }

  // Q straight into fragments, while K is on its way.
  const QueryRow query = packed_row(p, g < share.rows ? g : 0);
  const T* q_row = static_cast<const T*>(p.q.data) + batch * p.q.batch_stride +
                   (kv_head * p.group + query.head) * p.q.head_stride + query.position * p.q.row_stride;
  gpu::Chunk q[kTuning.head_dim / 32];
#pragma unroll
  for (int j = 0; j < kTuning.head_dim / 32; ++j) {
    const int column = 32 * j + 8 * t;
    const bool there = g < share.rows && column < p.head_dim;
    q[j] = there ? gpu::load_global(reinterpret_cast<const gpu::Chunk*>(q_row + column))
                 : gpu::Chunk{0, 0, 0, 0};
  }
  if (share.programmatic) gpu::let_next_kernel_start();
  if constexpr (kTuning.cluster > 1) {
    if (gpu::thread_index() == 0) {
      const uint32_t all_here = gpu::shared_address(&smem.all_here);
      gpu::mbarrier_init(all_here, 1);
      gpu::fence_mbarrier_init();
      gpu::mbarrier_arrive_expect_tx(
          all_here, static_cast<uint32_t>(kTuning.cluster * share.rows * (kTuning.slice() * 16 + 8)));
    }
    gpu::sync_warp();
    gpu::cluster_arrive_relaxed();
  }

  int row_sees = range.end;
  range.seen_by_all = range.end;
  if (p.causal) {
    const int visible = p.visible_keys(query.position), visible_to_first = p.visible_keys(0);
    row_sees = visible < range.end ? visible : range.end;
    range.seen_by_all = visible_to_first < range.end ? visible_to_first : range.end;
  }
  Running<Spec> running;
  attend<Spec>(p, from, range, q, row_sees, own, lane, running);
  publish<Spec>(running, share.rows, warp, lane, smem);
  gpu::sync_block();
  if constexpr (kTuning.cluster > 1) {
    merge_cluster<Spec>(p, share, smem);
  } else {
    merge_block<Spec>(p, share, smem);
  }
}

template <class Spec>
__global__ void __launch_bounds__(Spec::tuning.threads())
    decode_forward(const __grid_constant__ ForwardParams p, const __grid_constant__ Share share) {
  if constexpr (Spec::tuning.cluster > gpu::kMaxCluster) {
    gpu::refuse_architecture();
  } else {
    decode<Spec>(p, share);
  }
}

}  // namespace flashmoe::kernels::decode::inline FLASHMOE_TARGET
