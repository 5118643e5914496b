// SPDX-License-Identifier: MIT
// hopper_backward: dK and dV of attention, and the sums of dQ, by wgmma and TMA, for sm_90a.
// After FlashAttention-3 (Shah et al., 2024); S, P, dP, dS are the papers' letters. Bound: shared memory's
// bandwidth and the chip's power at head_dim 128, overlap at 64.
// A block has 128 keys (64 at head_dim 256), whose dK and dV stay in registers while Q and dO of all query
// heads that share them stream by. Roles: one warp loads; two warpgroups compute; two warps add their dQ to
// the sums.
// The schedule is drawn in NOTES.md; keys.cuh has its pieces, tiles.cuh what all roles agree on.
#pragma once

#include "kernels/hopper_backward/keys.cuh"
#include "kernels/hopper_backward/load.cuh"
#include "kernels/hopper_backward/reduce.cuh"
#include "primitives/cluster.h"
#include "primitives/control.h"
#include "primitives/global_counter.h"

namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET {

template <class Spec>
__device__ __forceinline__ void init_barriers(Smem<Spec>& smem) {
  constexpr int kMathWarps = 4 * kMathWarpgroups;
  const auto init = [](uint64_t& barrier, int arrivals) {
    gpu::mbarrier_init(gpu::shared_address(&barrier), static_cast<uint32_t>(arrivals));
  };
  init(smem.k_full, 1);
  init(smem.v_full, 1);
  for (int i = 0; i < Spec::stages; ++i) {
    init(smem.q_full[i], 1);
    init(smem.q_free[i], kMathWarps);
    init(smem.dout_full[i], 1);
    init(smem.dout_free[i], kMathWarps);
  }
  for (uint64_t& full : smem.ds_full) init(full, kMathWarps);
  if constexpr (Spec::adds_bias) {
    for (int w = 0; w < kMathWarpgroups; ++w) {
      init(smem.bias_full[w], 1);
      init(smem.bias_free[w], 4);
    }
  }
  init(smem.first_is_ahead, 1);
  gpu::fence_mbarrier_init();
}

// One tile of queries. dQ lags by a step: the other warpgroup's dS, which it needs, is then long there, and
// the warpgroups stay half a step apart, one with the tensor cores while the other has exponentials.
template <bool kMasked, bool kFirst, class Spec>
__device__ __forceinline__ void take_step(Keys<Spec>& keys) {
  Smem<Spec>& smem = keys.smem;
  keys.wait_for_queries();
  if constexpr (Spec::by_bits) keys.load_words();
  keys.issue_scores();
  keys.wait_for_dout();
  keys.issue_dp();
  gpu::wgmma_wait<1>();
  gpu::pin(keys.S);
  keys.template weigh_noted<kMasked>();
  keys.template issue_dv<kFirst>();
  if constexpr (Spec::adds_bias) keys.release_bias();
  if (kFirst && keys.warpgroup == 0 && keys.thread == 0) {
    gpu::mbarrier_arrive(gpu::shared_address(&smem.first_is_ahead));
  }
  if constexpr (Spec::keeps_capped) {  // P gives way: what was kept takes its registers
    gpu::wgmma_wait<0>();
    gpu::pin(keys.dV);
  } else {
    gpu::wgmma_wait<1>();
  }
  gpu::pin(keys.dP);
  if constexpr (!kFirst) {
    keys.issue_dq(keys.wait_for_last_ds());
  }
  keys.differentiate();
  keys.put_ds();
  gpu::wgmma_wait<0>();
  gpu::pin(keys.dV);
  if constexpr (!kFirst) gpu::pin(keys.dQ);
  gpu::sync_warp();
  keys.arrive(smem.ds_full[keys.ring.stage]);
  keys.arrive(smem.dout_free[keys.ring.stage]);
  keys.template issue_dk<kFirst>();
  if constexpr (!kFirst) keys.put_dq();
  gpu::wgmma_wait<0>();
  gpu::pin(keys.dK);
  gpu::sync_warp();
  keys.arrive(smem.q_free[keys.ring.stage]);
  keys.advance();
}

// One tile of queries where both warpgroups have the same keys: P and dS meet in shared memory, in one of two
// places in turn, so that one barrier is enough.
template <bool kMasked, bool kFirst, class Spec>
__device__ __forceinline__ void take_shared_step(Keys<Spec>& keys) {
  Smem<Spec>& smem = keys.smem;
  const int stage = keys.ring.stage;
  keys.wait_for_queries();
  if constexpr (Spec::by_bits) keys.load_words();
  keys.issue_scores();
  keys.wait_for_dout();
  keys.issue_dp();
  if constexpr (Spec::change == Change::softcap) {
    gpu::wgmma_wait<0>();
    gpu::pin(keys.S);
    gpu::pin(keys.dP);
    keys.template weigh_and_differentiate<kMasked>();
    keys.put_scores(smem.p[stage], keys.P);
  } else {
    gpu::wgmma_wait<1>();
    gpu::pin(keys.S);
    keys.template weigh_noted<kMasked>();
    keys.put_scores(smem.p[stage], keys.P);
    gpu::wgmma_wait<0>();
    gpu::pin(keys.dP);
    keys.differentiate();
  }
  keys.put_ds();
  gpu::named_barrier_sync(number(Barrier::math, 0), kMathWarpgroups * kWarpgroup);
  keys.issue_dq(stage, 0);
  keys.template issue_dv<kFirst>();
  gpu::wgmma_wait<1>();
  gpu::pin(keys.dQ);
  keys.wait_for_turn();
  keys.add_dq(0);
  keys.issue_dq(stage, 1);
  keys.template issue_dk<kFirst>();
  gpu::wgmma_wait<1>();
  gpu::pin(keys.dV);
  gpu::pin(keys.dQ);
  gpu::sync_warp();
  keys.arrive(smem.dout_free[stage]);
  keys.add_dq(1);
  keys.pass_turn();
  gpu::wgmma_wait<0>();
  gpu::pin(keys.dK);
  gpu::sync_warp();
  keys.arrive(smem.q_free[stage]);
  keys.advance();
}

template <class Spec>
__device__ __forceinline__ void walk_shared(Keys<Spec>& keys, const Work& work) {
  take_shared_step<true, true>(keys);
#pragma unroll 1
  for (int left = work.steps - 1; left > 0; --left) {
    if (!Spec::notes_masks && needs_mask<Spec>(keys.params, work, keys.q_tile)) {
      take_shared_step<true, false>(keys);
    } else {
      take_shared_step<false, false>(keys);
    }
  }
}

template <class Spec>
__device__ __forceinline__ void walk(Keys<Spec>& keys, const Work& work) {
  if (keys.warpgroup == 1) keys.wait_full(keys.smem.first_is_ahead, 0);
  take_step<true, true>(keys);
#pragma unroll 1
  for (int left = work.steps - 1; left > 0; --left) {
    if (!Spec::notes_masks && needs_mask<Spec>(keys.params, work, keys.q_tile)) {
      take_step<true, false>(keys);
    } else {
      take_step<false, false>(keys);
    }
  }
  keys.issue_dq(keys.wait_for_last_ds());
  gpu::wgmma_wait<0>();
  gpu::pin(keys.dQ);
  keys.put_dq();
}

template <class Spec>
__device__ __forceinline__ void compute(const Params& params, Smem<Spec>& smem, const Work& work,
                                        int warpgroup) {
  Keys<Spec> keys(params, smem, work, warpgroup);
  if (work.steps == 0) {
#pragma unroll
    for (int i = 0; i < Spec::own_columns / 2; ++i) keys.dK[i] = keys.dV[i] = 0;
  } else {
    keys.wait_full(smem.k_full, 0);
    keys.wait_full(smem.v_full, 0);
    if constexpr (Spec::shares_keys) {
      walk_shared(keys, work);
    } else {
      walk(keys, work);
    }
  }
  // Found anew: to keep it in registers all along would leave too few for the loop.
  keys.store_gradients(find_work<Spec>(params, tile_number(params, smem)));
}

template <class Spec>
__global__ void __launch_bounds__(kThreads, 1) hopper_backward(const __grid_constant__ Params params) {
  if constexpr (gpu::kHasWgmma) {
    auto& smem = gpu::shared<Smem<Spec>>();
    if (gpu::thread_index() == 0) init_barriers<Spec>(smem);
    gpu::griddepcontrol_wait();
    if (params.problem.in_order && gpu::thread_index() == 0) {
      smem.tile = gpu::fetch_increment(params.problem.counters);
    }
    gpu::sync_block();
    const Work work = find_work<Spec>(params, tile_number(params, smem));
    if constexpr (Spec::lengths) {
      if (work.steps == kNoWork) return;
      if (gpu::thread_index() == 0) {
        smem.causal_shift = work.causal_shift;
        smem.more_rows = work.more_rows;
      }
      gpu::sync_block();
    }
    const int warpgroup = gpu::warp_index() / 4;
    if (warpgroup == kMathWarpgroups) {
      gpu::setmaxnreg_dec<kLoadRegisters>();
      const int warp = gpu::warp_index() % 4;
      if (warp == 0) {
        if (gpu::lane_index() == 0) load_tiles<Spec>(params, smem, work);
      } else if (warp <= kMathWarpgroups) {
        if constexpr (!Spec::shares_keys) {
          reduce_dq<Spec>(params, smem, work, warp - 1);
        } else if (params.problem.in_order) {
          take_turns<Spec>(params, work, warp - 1);
        }
      }
    } else {
      gpu::setmaxnreg_inc<kMathRegisters>();
      compute<Spec>(params, smem, work, warpgroup);
    }
  } else {
    gpu::refuse_architecture();
  }
}

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET
