// SPDX-License-Identifier: MIT
// The schedule of the math warpgroups: in which order the pieces of keys.cuh come, for one tile of queries
// and for all that see a tile of keys.
#pragma once

#include "kernels/hopper_backward/keys.cuh"

namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET {

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

// All but the last step's dQ. parity: of first_is_ahead.
template <class Spec>
__device__ __forceinline__ void walk(Keys<Spec>& keys, const Work& work, uint32_t parity) {
  if (keys.warpgroup == 1) keys.wait_full(keys.smem.first_is_ahead, parity);
  take_step<true, true>(keys);
#pragma unroll 1
  for (int left = work.steps - 1; left > 0; --left) {
    if (!Spec::notes_masks && needs_mask<Spec>(keys.params, work, keys.q_tile)) {
      take_step<true, false>(keys);
    } else {
      take_step<false, false>(keys);
    }
  }
}

template <class Spec>
__device__ __forceinline__ void find_last_dq(Keys<Spec>& keys) {
  keys.issue_dq(keys.wait_for_last_ds());
  gpu::wgmma_wait<0>();
  gpu::pin(keys.dQ);
}

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET
