// SPDX-License-Identifier: MIT
// Blocks that take one tile of keys after the other (Spec::persistent). The loader takes a tile's number and
// notes what there is to do in Smem::work, before K's barrier; the others find it there. Rings go on from
// tile to tile; barriers of which a tile has one phase have the parity of its number.
// K and V are free once the last dQ is there and dV has left through V. dK leaves behind the last dQ, through
// the same place, by the same warp.
#pragma once

#include "kernels/hopper_backward/load.cuh"
#include "kernels/hopper_backward/reduce.cuh"
#include "kernels/hopper_backward/steps.cuh"
#include "primitives/control.h"
#include "primitives/global_counter.h"

namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET {

// What a block does n-th.
template <class Spec>
__device__ __forceinline__ Work& work_place(Smem<Spec>& smem, uint32_t n) {
  return smem.work[n % 4];
}

template <class Spec>
__device__ __forceinline__ void take_work(const Params& params, Work& work) {
  const BackwardParams& p = params.problem;
  int number;
  do {
    number = gpu::fetch_increment(p.counters);
    if (number >= p.order.q_tiles * p.order.heads * p.order.batch) {
      work.steps = kNoWork;
      return;
    }
    if constexpr (Spec::lengths) find_listed<Spec>(params, static_cast<uint32_t>(number), work);
    // The list's end is that of these heads: others may follow.
  } while (Spec::lengths && work.steps == kNoWork && p.order.heads_at_once < p.order.heads);
  int head = 0;  // the first, over all entries
  int row = 0;   // of it
  if constexpr (Spec::lengths) {
    if (work.steps == kNoWork) return;
    row = work.first_padded;
  } else {
    work = find_work<Spec>(params, static_cast<uint32_t>(number));
    head = work.batch * p.q_heads;
  }
  head += work.kv_head * p.group;
  row += work.begin * Spec::tile_q;
  work.row_block = head * (p.padded_rows / kDqPieceRows) + row / kDqPieceRows;
}

template <class Spec>
__device__ __forceinline__ void load_all(const Params& params, Smem<Spec>& smem) {
  uint32_t steps = 0;  // of all tiles
#pragma unroll 1
  for (uint32_t n = 0;; ++n) {
    Work& work = work_place(smem, n);
    take_work<Spec>(params, work);
    const uint32_t parity = n % 2;
    if (work.steps <= 0) {
      gpu::mbarrier_wait_in_block(gpu::shared_address(&smem.keys_free), parity ^ 1);
      gpu::mbarrier_arrive(gpu::shared_address(&smem.v_full));
      gpu::mbarrier_arrive(gpu::shared_address(&smem.k_full));
      if (work.steps == kNoWork) return;
      continue;
    }
    Step<Spec> step(params, work);
#pragma unroll 1
    for (int i = 0; i < work.steps; ++i) {
      const auto ring = Ring<Spec::stages>::at(steps++);
      const int64_t row = step.padded_row(params, work);
      load_queries<Spec>(params, smem, work, step, ring, row);
      load_dout<Spec>(params, smem, work, step, ring, row);
      if (i == 0) {
        gpu::mbarrier_wait_in_block(gpu::shared_address(&smem.keys_free), parity ^ 1);
        load_keys<Spec>(smem.v, smem.v_full, params.v, work);
        load_keys<Spec>(smem.k, smem.k_full, params.k, work);
      }
      step.advance(params, work);
    }
  }
}

// A warpgroup's rows of dK or dV, in slabs so far apart, unless a sequence begins among them. Caller: one
// thread, which then has to wait until they are read.
template <class Spec>
__device__ __forceinline__ void store_rows(const gpu::TensorMap& map, uint32_t place, int slab_bytes,
                                           const Work& work, int warpgroup) {
  const int first_key = work.first_key + warpgroup * kWarpgroupKeys;
  if (Spec::lengths && first_key < 0) return;
#pragma unroll
  for (int slab = 0; slab < Spec::slabs; ++slab) {
    gpu::tma_store_4d(map, place + slab * slab_bytes, slab * Spec::slab_columns, first_key, work.kv_head,
                      Spec::lengths ? work.k_place : work.batch);
  }
  gpu::tma_store_commit();
}

inline constexpr int kOwnSlabBytes = kWarpgroupKeys * 128;  // of dK in the place of dQ

template <class Spec>
__device__ __forceinline__ void reduce_all(const Params& params, Smem<Spec>& smem, int warpgroup) {
#pragma unroll 1
  for (uint32_t n = 0;; ++n) {
    gpu::mbarrier_wait_in_block(gpu::shared_address(&smem.k_full), n % 2);
    const Work& work = work_place(smem, n);
    if (work.steps == kNoWork) return;
    gpu::sync_warp();
    // The tile before is over for this warp.
    if (gpu::lane_index() == 0) gpu::mbarrier_arrive(gpu::shared_address(&smem.keys_free));
    reduce_dq<Spec>(params, smem, work, warpgroup);
    gpu::named_barrier_sync(number(Barrier::dq_full, warpgroup), kReducingThreads);
    if (gpu::lane_index() == 0) {
      store_rows<Spec>(params.dk, gpu::shared_address(smem.dq[warpgroup]), kOwnSlabBytes, work, warpgroup);
      gpu::tma_store_wait_read<0>();
    }
    gpu::sync_warp();
  }
}

// dK or dV to where they leave from; zeros, if no query sees a key: kSeen.
template <bool kSeen, int kSlabBytes, class Spec>
__device__ __forceinline__ void put_rows(Keys<Spec>& keys, unsigned char* place,
                                         const float (&sums)[Spec::own_columns / 2], float scale) {
  if constexpr (kSeen) {
    keys.template put_gradient<kSlabBytes>(gpu::shared_address(place), sums, scale);
  } else {
#pragma unroll
    for (int slab = 0; slab < Spec::slabs; ++slab) {
#pragma unroll
      for (int i = 0; i < kOwnSlabBytes / 16; i += kWarpgroup)
        reinterpret_cast<gpu::Chunk*>(place + slab * kSlabBytes)[i + keys.thread] = {0, 0, 0, 0};
    }
  }
  gpu::fence_proxy_async();
}

// dV, through the rows of V that only this warpgroup reads.
template <bool kSeen, class Spec>
__device__ __forceinline__ void send_dv(Keys<Spec>& keys, const Work& work) {
  unsigned char* place = keys.smem.v + keys.own_offset();
  put_rows<kSeen, Spec::kv_slab_bytes>(keys, place, keys.dV, 1.0F);
  gpu::named_barrier_sync(number(Barrier::warpgroup, keys.warpgroup), kWarpgroup);
  if constexpr (Spec::lengths) {
    if (work.first_key + keys.own_key() < 0)
      keys.template store_beginning<Spec::kv_slab_bytes>(work, place, keys.params.problem.dv);
  }
  if (keys.thread == 0)
    store_rows<Spec>(keys.params.dv, gpu::shared_address(place), Spec::kv_slab_bytes, work, keys.warpgroup);
}

template <bool kSeen, class Spec>
__device__ __forceinline__ void send_dk(Keys<Spec>& keys, const Work& work) {
  const int warpgroup = keys.warpgroup;
  auto* place = reinterpret_cast<unsigned char*>(keys.smem.dq[warpgroup]);
  gpu::named_barrier_sync(number(Barrier::dq_free, warpgroup), kReducingThreads);
  put_rows<kSeen, kOwnSlabBytes>(keys, place, keys.dK, keys.params.problem.scale);
  if constexpr (Spec::lengths) {
    if (work.first_key + keys.own_key() < 0) {
      gpu::named_barrier_sync(number(Barrier::warpgroup, warpgroup), kWarpgroup);
      keys.template store_beginning<kOwnSlabBytes>(work, place, keys.params.problem.dk);
    }
  }
  gpu::named_barrier_arrive(number(Barrier::dq_full, warpgroup), kReducingThreads);
}

// What is left of a tile behind its walk.
template <bool kSeen, class Spec>
__device__ __forceinline__ void finish_tile(Keys<Spec>& keys, const Work& work) {
  send_dv<kSeen>(keys, work);
  if constexpr (kSeen) find_last_dq(keys);
  if (keys.thread == 0) gpu::tma_store_wait_read<0>();
  gpu::sync_warp();
  keys.arrive(keys.smem.keys_free);
  if constexpr (kSeen) keys.put_dq();
  send_dk<kSeen>(keys, work);
}

template <class Spec>
__device__ __forceinline__ void compute_all(const Params& params, Smem<Spec>& smem, int warpgroup) {
  Keys<Spec> keys(params, smem, warpgroup);
#pragma unroll 1
  for (uint32_t n = 0;; ++n) {
    const uint32_t parity = n % 2;
    keys.wait_full(smem.k_full, parity);
    const Work& work = work_place(smem, n);
    if (work.steps == kNoWork) return;
    keys.wait_full(smem.v_full, parity);
    if (work.steps > 0) {
      keys.begin(work);
      walk(keys, work, parity);
      finish_tile<true>(keys, work);
    } else {
      // A phase of this one too.
      if (warpgroup == 0 && keys.thread == 0) gpu::mbarrier_arrive(gpu::shared_address(&smem.first_is_ahead));
      if (warpgroup == 1) keys.wait_full(smem.first_is_ahead, parity);
      finish_tile<false>(keys, work);
    }
  }
}

template <class Spec>
__device__ __forceinline__ void run_persistent(const Params& params, Smem<Spec>& smem) {
  const int warpgroup = gpu::warp_index() / 4;
  if (warpgroup < kMathWarpgroups) {
    gpu::setmaxnreg_inc<kMathRegisters>();
    return compute_all<Spec>(params, smem, warpgroup);
  }
  gpu::setmaxnreg_dec<kLoadRegisters>();
  const int warp = gpu::warp_index() % 4;
  if (warp == 0) {
    if (gpu::lane_index() == 0) load_all<Spec>(params, smem);
  } else if (warp <= kMathWarpgroups) {
    reduce_all<Spec>(params, smem, warp - 1);
  }
}

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET
