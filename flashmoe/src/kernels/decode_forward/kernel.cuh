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
#include <type_traits>

#include "kernels/decode_forward/maths.cuh"
#include "kernels/decode_forward/params.h"
#include "kernels/decode_forward/smem.h"
#include "kernels/decode_forward/spec.h"
#include "kernels/eight_rows.h"
#include "primitives/arithmetic.h"
#include "primitives/barrier.h"
#include "primitives/cluster.h"
#include "primitives/control.h"
#include "primitives/cp_async.h"
#include "primitives/index.h"
#include "primitives/mbarrier.h"
#include "primitives/memory.h"
#include "primitives/registers.h"
#include "primitives/shared.h"
#include "primitives/shuffle.h"

namespace flashmoe::kernels::decode::inline FLASHMOE_TARGET {

// Which keys a warp has: the warps of a block take chunks in turn, keys_to_next() apart.
struct Range {
  int first, end;
  int seen_by_all;  // keys before this one need no mask
};

// Rows that lie side by side and fill the compiled head_dim: addresses that the compiler knows.
template <int kElements>
struct DenseRows {
  FLASHMOE_HD constexpr operator int64_t() const { return kElements; }
};
// Any rows.
struct StridedRows {
  int64_t elements;
  FLASHMOE_HD constexpr operator int64_t() const { return elements; }
};

// K or V as one lane copies it, from chunk of keys to chunk of keys.
template <class T, class Stride>
struct Stream {
  static constexpr bool kDense = !std::is_same_v<Stride, StridedRows>;
  const T* next;  // this lane's piece of the first row that it copies of the next chunk
  Stride stride;
  int left;          // rows from the next chunk's first one to the range's end; 0 or less: zeros instead
  bool has_columns;  // false: this lane's columns are past head_dim, and it copies zeros

  template <int kKeysToNext, int kChunks, class Swizzle>
  __device__ __forceinline__ void copy(gpu::Chunk (*to)[kChunks], int lane, Swizzle place) {
    const int row = lane / kChunks;
    const int chunk = lane % kChunks;
    const int mine = kDense || has_columns ? left - row : 0;
    constexpr int kRowsAtOnce = 32 / kChunks;
    const T* from = next;
#pragma unroll
    for (int i = 0; i < kChunkKeys; i += kRowsAtOnce) {
      const uint32_t target = gpu::shared_address(&to[i + row][place(i + row, chunk)]);
      gpu::cp_async_16(target, from, i < mine);
      from = step_on(from, kRowsAtOnce);
    }
    next = step_on(next, kKeysToNext);
    left = gpu::opaque(left - kKeysToNext);
  }

 private:
  // Opaque, or all addresses to come are worked out at once and kept in registers. Those of dense rows cost
  // nothing.
  __device__ __forceinline__ const T* step_on(const T* from, int rows) const {
    return kDense ? from + rows * stride : gpu::opaque(from + rows * stride);
  }
};

template <class T, class Stride>
struct Streams {
  Stream<T, Stride> k, v;

  // Starts the copy of step `step`. Steps take the K chunks of a block of keys, then its V chunks, and go on
  // into the next block; they must be asked for in order.
  template <class Spec>
  __device__ __forceinline__ void copy_step(int step, typename Smem<Spec>::Warp& own, int lane) {
    constexpr Tuning kTuning = Spec::tuning;
    auto* to = own.ring[step % kTuning.ring];
    if (step % kTuning.steps() < kTuning.steps() / 2) {
      k.template copy<kTuning.keys_to_next()>(to, lane, WarpMaths<Spec>::place);
    } else {
      v.template copy<kTuning.keys_to_next()>(to, lane, WarpMaths<Spec>::place);
    }
  }
};

// All keys of this warp, from copies to weights to output.
template <class Spec, class Stride, class Sees>
__device__ __forceinline__ void attend(const Range& range, Sees row_sees, float scale_log2e,
                                       Streams<typename Spec::Element, Stride> from, Smem<Spec>& smem,
                                       int warp, int lane, WarpMaths<Spec>& maths) {
  constexpr Tuning kTuning = Spec::tuning;
  auto& own = smem.warp[warp];
  constexpr int kSteps = kTuning.steps();
  constexpr int kBlockReach =
      kSteps / 2 * kTuning.keys_to_next();  // from the first key of a block to the next's
  gpu::cp_async_wait<kTuning.ring - 1>();
  gpu::sync_warp();
  maths.take_q(smem.q[warp]);
  for (int first = range.first;; first += kBlockReach) {
    const bool more = !kTuning.once && first + kBlockReach < range.end;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      gpu::cp_async_wait<kTuning.ring - 1>();
      gpu::sync_warp();
      const auto* chunk = own.ring[step % kTuning.ring];
      if (step < kSteps / 2) {
        maths.scores(step, chunk);
      } else {
        if (step == kSteps / 2) {
          const int end = first + kBlockReach - kTuning.keys_to_next() + kChunkKeys;
          maths.absorb(scale_log2e, end > range.seen_by_all, first, row_sees);
        }
        maths.outputs(step - kSteps / 2, chunk);
      }
      if (step + kTuning.ring < kSteps || more) {
        gpu::sync_warp();  // every lane is done with the slot
        from.template copy_step<Spec>(step + kTuning.ring, own, lane);
      }
      gpu::cp_async_commit();
    }
    if (!more) break;
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

// Position and head of packed row `row`, which exists.
__device__ __forceinline__ QueryRow packed_row(const Params& p, int row) {
  const auto position = static_cast<int>(p.by_group.divide(static_cast<uint32_t>(row)));
  return {position, row - position * p.group, true};
}

// Normalises columns 4 c to 4 c + 3 of a row and stores them: as output, or as one split's p.
template <class Spec>
__device__ __forceinline__ void store(const Params& p, int split, int row, int c, const Merged& merged) {
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
    const int64_t at = int64_t{split} * p.batch * p.q_heads * p.q_rows + index;
    gpu::store_global(reinterpret_cast<Float4*>(p.partial_out + at * Spec::tuning.head_dim + column), o);
    if (c == 0) gpu::store_global(p.partial_stats + at, merged.stats);
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

// The warps' shares of columns 4 c to 4 c + 3 of a row.
template <class Spec>
__device__ __forceinline__ Merged merge_warps(const Smem<Spec>& smem, int row, int c) {
  constexpr int kWarps = Spec::tuning.warps;
  RowStats stats[kWarps];
  Float4 partial[kWarps];
#pragma unroll
  for (int w = 0; w < kWarps; ++w) stats[w] = smem.stats[row][w];
#pragma unroll
  for (int w = 0; w < kWarps; ++w)
    partial[w] = smem.warp[w].partial[row][WarpMaths<Spec>::place_partial(row, c)];
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
  gpu::st_async_16(gpu::mapa(gpu::shared_address(&smem.peer_partial[rank][row][c % kTuning.slice()]), owner),
                   o, gpu::mapa(all_here, owner));
  if (c < kTuning.cluster) {
    const auto peer = static_cast<uint32_t>(c);
    const float stats[2] = {merged.stats.max, merged.stats.sum};
    gpu::st_async_8(gpu::mapa(gpu::shared_address(&smem.peer_stats[row][rank]), peer), stats,
                    gpu::mapa(all_here, peer));
  }
}

template <class Spec>
__device__ __forceinline__ Merged merge_blocks(const Smem<Spec>& smem, int row, int c) {
  constexpr int kCluster = Spec::tuning.cluster;
  RowStats stats[kCluster];
  Float4 partial[kCluster];
#pragma unroll
  for (int b = 0; b < kCluster; ++b) stats[b] = smem.peer_stats[row][b];
#pragma unroll
  for (int b = 0; b < kCluster; ++b) partial[b] = smem.peer_partial[b][row][c];
  return merge(stats, partial);
}

// Each block merges its slice of the output columns from the shares of all.
template <class Spec>
__device__ __forceinline__ void merge_cluster(const Params& p, Smem<Spec>& smem) {
  constexpr Tuning kTuning = Spec::tuning;
  constexpr int kColumns = kTuning.head_dim / 4;
  const uint32_t rank = gpu::cluster_rank();
  gpu::cluster_wait();  // every peer's mbarrier is ready
  for (int unit = gpu::thread_index(); unit < p.rows * kColumns; unit += kTuning.threads()) {
    const int row = unit / kColumns, c = unit % kColumns;
    send<Spec>(smem, rank, row, c, merge_warps<Spec>(smem, row, c));
  }
  const int split = static_cast<int>(gpu::block_index()) / kTuning.cluster;
  for (int unit = gpu::thread_index(); unit < p.rows * kTuning.slice(); unit += kTuning.threads()) {
    // Whoever waits keeps the block, and so its shared memory, until the last peer has written.
    gpu::mbarrier_wait(gpu::shared_address(&smem.all_here), 0);
    const int row = unit / kTuning.slice(), c = unit % kTuning.slice();
    store<Spec>(p, split, row, static_cast<int>(rank) * kTuning.slice() + c,
                merge_blocks<Spec>(smem, row, c));
  }
}

template <class Spec>
__device__ __forceinline__ void merge_block(const Params& p, const Smem<Spec>& smem) {
  constexpr int kColumns = Spec::tuning.head_dim / 4;
  for (int unit = gpu::thread_index(); unit < p.rows * kColumns; unit += Spec::tuning.threads()) {
    const int row = unit / kColumns, c = unit % kColumns;
    store<Spec>(p, static_cast<int>(gpu::block_index()), row, c, merge_warps<Spec>(smem, row, c));
  }
}

// Stride: how rows of K and V lie.
template <class Spec, class Stride>
__device__ __forceinline__ void decode(const Params& p, Stride k_stride, Stride v_stride) {
  using T = typename Spec::Element;
  constexpr Tuning kTuning = Spec::tuning;
  auto& smem = gpu::shared<Smem<Spec>>();
  const int lane = gpu::lane_index();
  const int warp = gpu::thread_index() / 32;
  const unsigned batch = gpu::block_index_z();
  const unsigned kv_head = gpu::block_index_y();
  auto& own = smem.warp[warp];

  if (p.programmatic) gpu::griddepcontrol_wait();
  Range range{};
  const int keys_of_warp = p.keys_per_warp;
  const int block_first = static_cast<int>(gpu::block_index()) * kTuning.warps * keys_of_warp;
  range.first = block_first + warp * kChunkKeys;
  range.end = block_first + kTuning.warps * keys_of_warp;
  if (range.end > p.keys) range.end = p.keys;
  const auto copy_row = static_cast<unsigned>(range.first + lane / kTuning.chunks());
  const int copy_column = 8 * (lane % kTuning.chunks());
  const auto stream = [&](const View& tensor, Stride stride) {
    return Stream<T, Stride>{static_cast<const T*>(tensor.data) + batch * tensor.batch_stride +
                                 kv_head * tensor.head_stride + copy_row * int64_t{stride} + copy_column,
                             stride, range.end - range.first, copy_column < p.head_dim};
  };
  Streams<T, Stride> from{stream(p.k, k_stride), stream(p.v, v_stride)};
  WarpMaths<Spec> maths(lane, p.rows);
  const auto q_row = [&](int row) {
    const QueryRow query = packed_row(p, row);
    return static_cast<const T*>(p.q.data) + batch * p.q.batch_stride +
           (kv_head * static_cast<unsigned>(p.group) + static_cast<unsigned>(query.head)) * p.q.head_stride +
           query.position * p.q.row_stride;
  };
#pragma unroll
  for (int step = 0; step < kTuning.ring; ++step) {
    from.template copy_step<Spec>(step, own, lane);
    // Q with the first K: a plain load would be moved behind all of these.
    if (step == 0) maths.copy_q(q_row, p.head_dim, smem.q[warp]);
    gpu::cp_async_commit();
  }
  if (p.programmatic) gpu::griddepcontrol_launch_dependents();
  if constexpr (kTuning.cluster > 1) {
    if (gpu::thread_index() == 0) {
      const uint32_t all_here = gpu::shared_address(&smem.all_here);
      gpu::mbarrier_init(all_here, 1);
      gpu::fence_mbarrier_init();
      gpu::mbarrier_arrive_expect_tx(
          all_here, static_cast<uint32_t>(kTuning.cluster * p.rows * (kTuning.slice() * 16 + 8)));
    }
    gpu::sync_warp();
    gpu::cluster_arrive_relaxed();
  }

  const auto row_sees = [&](int row) {
    const int visible = p.visible_keys(packed_row(p, row).position);
    return visible < range.end ? visible : range.end;
  };
  range.seen_by_all = row_sees(0);
  attend<Spec, Stride>(range, row_sees, p.scale_log2e, from, smem, warp, lane, maths);
  maths.publish(warp, smem);
  gpu::sync_block();
  if constexpr (kTuning.cluster > 1) {
    merge_cluster<Spec>(p, smem);
  } else {
    merge_block<Spec>(p, smem);
  }
}

template <class Spec>
__global__ void __launch_bounds__(Spec::tuning.threads(), Spec::tuning.blocks_per_sm)
    decode_forward(const __grid_constant__ Params p) {
  if constexpr (Spec::tuning.cluster > gpu::kMaxCluster) {
    gpu::refuse_architecture();
  } else if (p.dense) {
    using Dense = DenseRows<Spec::tuning.head_dim>;
    decode<Spec>(p, Dense(), Dense());
  } else {
    decode<Spec>(p, StridedRows{p.k.row_stride}, StridedRows{p.v.row_stride});
  }
}

}  // namespace flashmoe::kernels::decode::inline FLASHMOE_TARGET
