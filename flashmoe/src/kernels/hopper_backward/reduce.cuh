// SPDX-License-Identifier: MIT
// The warp that adds a math warpgroup's pieces of dQ to the sums in global memory, so that nobody else waits
// for it. Where sums are to come out the same bits every time, blocks add in a fixed order.
#pragma once

#include "kernels/hopper_backward/tiles.cuh"
#include "kernels/load_row_table.h"
#include "primitives/barrier.h"
#include "primitives/bulk.h"
#include "primitives/global_counter.h"
#include "primitives/index.h"
#include "primitives/shared.h"
#include "primitives/tma.h"

namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET {

// 0 belongs to sync_block. dq_full and dq_free: one per math warpgroup, with the warp that adds its dQ or
// takes its turns. Free: dQ may be put, or added; full: it has been.
enum class Barrier { math = 1, dq_full = 2, dq_free = 4, warpgroup = 6 };
inline constexpr int kReducingThreads = kWarpgroup + 32;

static __device__ __forceinline__ int number(Barrier barrier, int of_warpgroup) {
  return static_cast<int>(barrier) + of_warpgroup;
}

// How many blocks add to a tile of queries before the one with these keys: those with later keys. Later keys
// have lower numbers (TileOrder::last_first, and lists of sequences' tiles), and a causal block meets its
// query tiles in the order in which the next block leaves them.
template <class Spec>
__device__ __forceinline__ int turn_of(const BackwardParams& p, const Work& work, int q_tile) {
  const int last_row = (q_tile + 1) * Spec::tile_q - 1;
  if constexpr (Spec::lengths) {                                        // tiles count from the end
    const int unseen = work.k_rows - 1 - work.causal_shift - last_row;  // keys behind what the last row sees
    const int behind = work.k_rows - Spec::tile_kv - work.first_key;    // the tile
    return behind / Spec::tile_kv - (unseen < 0 ? 0 : unseen) / Spec::tile_kv;
  }
  const int own_tile = work.first_key / Spec::tile_kv;
  if constexpr (Spec::by_rows) {
    const int end = load_row(p.table, work.batch, last_row < p.q_rows ? last_row : p.q_rows - 1).end;
    return (end - 1) / Spec::tile_kv - own_tile;
  }
  if constexpr (Spec::by_key_tiles) return (p.kv_rows - 1) / Spec::tile_kv - own_tile;
  const int last_key = last_row + p.causal_shift;
  const int last_tile = (last_key < p.kv_rows ? last_key : p.kv_rows - 1) / Spec::tile_kv;
  return last_tile - own_tile;
}

// The counter of a warpgroup's pieces of dQ in a step's tile, and the value at which it is this block's turn.
struct Turn {
  int* counter;
  int number;

  template <class Spec>
  static __device__ __forceinline__ Turn of(const Params& params, const Work& work, const Step<Spec>& step,
                                            int warpgroup) {
    const int piece = step.first_piece(params, work) + warpgroup * Spec::own_pieces;
    return {params.problem.counters + 1 + piece, turn_of<Spec>(params.problem, work, step.q_tile)};
  }
  __device__ __forceinline__ bool has_come() const { return gpu::has_count(counter, number); }
  __device__ __forceinline__ void wait() const { gpu::wait_for_count(counter, number); }
  __device__ __forceinline__ void pass() const { gpu::increment_release(counter); }
};

template <class Spec>
__device__ __forceinline__ void reduce_dq(const Params& params, Smem<Spec>& smem, const Work& work,
                                          int warpgroup) {
  const BackwardParams& p = params.problem;
  const int full = number(Barrier::dq_full, warpgroup);
  const int free = number(Barrier::dq_free, warpgroup);
  if (Spec::persistent || work.steps > 0) gpu::named_barrier_arrive(free, kReducingThreads);
  const bool leads = gpu::lane_index() == 0;
  const bool takes_turns = leads && p.in_order;
  bool has_come = false;  // the turn of the step at hand, seen ahead
  Step<Spec> step(params, work);
#pragma unroll 1
  for (int i = 0; i < work.steps; ++i) {
    const int piece = step.first_piece(params, work) + warpgroup;
    const Turn turn = Turn::of<Spec>(params, work, step, warpgroup);
    step.advance(params, work);
    if (takes_turns && !has_come) turn.wait();
    gpu::sync_warp();
    gpu::named_barrier_sync(full, kReducingThreads);
    if (leads) {
      if (p.in_order) gpu::fence_proxy_async_global();
      gpu::bulk_reduce_add(p.dq_sums + int64_t{piece} * kDqPieceFloats,
                           gpu::shared_address(smem.dq[warpgroup]), sizeof(smem.dq[warpgroup]));
      gpu::tma_store_commit();
      gpu::tma_store_wait_read<0>();
    }
    gpu::sync_warp();
    // Persistent: dK follows.
    if (Spec::persistent || i + 1 < work.steps) gpu::named_barrier_arrive(free, kReducingThreads);
    if (takes_turns) {
      // While the sums are on their way.
      if (i + 1 < work.steps) has_come = Turn::of<Spec>(params, work, step, warpgroup).has_come();
      gpu::tma_store_wait<0>();
      gpu::fence_proxy_async_global();
      turn.pass();
    }
    gpu::sync_warp();
  }
}

// Where the math warpgroups add to the sums themselves: waits for their turns, and passes them on, so that
// nobody else waits for global memory.
template <class Spec>
__device__ __forceinline__ void take_turns(const Params& params, const Work& work, int warpgroup) {
  Step<Spec> step(params, work);
#pragma unroll 1
  for (int i = 0; i < work.steps; ++i) {
    const Turn turn = Turn::of<Spec>(params, work, step, warpgroup);
    if (gpu::lane_index() == 0) turn.wait();
    gpu::sync_warp();
    gpu::named_barrier_arrive(number(Barrier::dq_free, warpgroup), kReducingThreads);
    gpu::named_barrier_sync(number(Barrier::dq_full, warpgroup), kReducingThreads);
    if (gpu::lane_index() == 0) turn.pass();
    gpu::sync_warp();
    step.advance(params, work);
  }
}

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET
