// SPDX-License-Identifier: MIT
// ampere_backward: dK and dV of attention, and the sums of dQ, by mma.sync and cp.async, for sm_80 and
// everything newer.
// After FlashAttention-2 (Dao, 2023); S, P, dP, dS are the paper's letters. Bound: shared memory's bandwidth
// and the tensor cores. A block has a tile of keys, whose dK and dV stay in registers while Q and dO of all
// query heads that share them stream by. Roles: all warps alike. NOTES.md has the schedule, keys.cuh its
// pieces.
#pragma once

#include "kernels/ampere_backward/dropout.cuh"
#include "kernels/ampere_backward/keys.cuh"
#include "kernels/ampere_backward/pairs.cuh"
#include "primitives/control.h"

namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET {

// P in the place of S; and by what dP - delta is multiplied, where that is something else.
template <bool kMasked, class Spec, class Added>
__device__ __forceinline__ void weigh(const Keys<Spec>& keys, typename Keys<Spec>::Scores& S,
                                      [[maybe_unused]] typename Keys<Spec>::Scores& factors,
                                      [[maybe_unused]] const Added& added, const Step& step, int chunk) {
  if constexpr (Spec::general) {
    keys.weigh_changed(S, factors, added, step, chunk);
  } else {
    keys.template weigh<kMasked>(S, step.q_tile, chunk);
  }
}

template <class Spec>
__device__ __forceinline__ auto kept_weights(const Keys<Spec>& keys, const Step& step, int chunk) {
  if constexpr (Spec::general) {
    return KeptWeights<Spec>(keys, step, chunk);
  } else {
    return nullptr;  // nothing is left out
  }
}

template <class Spec>
__device__ __forceinline__ auto pair_values(const Keys<Spec>& keys, const Step& step, int chunk) {
  if constexpr (Spec::pairs) {
    return PairValues<Spec>(keys, step, chunk);
  } else {
    return nullptr;  // nothing is added
  }
}

// P and dS of a step, to where all warps find them.
template <bool kMasked, class Spec>
__device__ __forceinline__ void share_scores(Keys<Spec>& keys, const Step& step) {
#pragma unroll 1
  for (int chunk = 0; chunk < Spec::chunks; ++chunk) {
    typename Keys<Spec>::Scores S, dP;
    [[maybe_unused]] typename Keys<Spec>::Scores factors;
    typename Keys<Spec>::PackedScores packed;
    [[maybe_unused]] const auto kept = kept_weights(keys, step, chunk);
    [[maybe_unused]] const auto added = pair_values(keys, step, chunk);
    keys.find_scores(S, chunk);
    keys.find_dp(dP, chunk);
    weigh<kMasked>(keys, S, factors, added, step, chunk);
    if constexpr (Spec::general) drop_weights(S, keys, kept);
    Keys<Spec>::pack_scores(packed, S);
    keys.put_scores(keys.smem.scores[kP], packed, chunk);
    if constexpr (Spec::general) drop_gradients(dP, keys, kept);
    keys.differentiate(dP, Spec::general ? factors : S, chunk);
    if constexpr (Spec::pairs) differentiate_pairs(keys, dP, S, step, chunk);
    Keys<Spec>::pack_scores(packed, dP);
    keys.put_scores(keys.smem.scores[kDs], packed, chunk);
  }
}

// P and dS of a step, and what dV and dK gain by them, all in registers. dV before dP: both need many.
template <bool kMasked, class Spec>
__device__ __forceinline__ void take_scores(Keys<Spec>& keys, const Step& step) {
#pragma unroll 1
  for (int chunk = 0; chunk < Spec::chunks; ++chunk) {
    typename Keys<Spec>::Scores S, dP;
    [[maybe_unused]] typename Keys<Spec>::Scores factors;
    typename Keys<Spec>::PackedScores packed;
    [[maybe_unused]] const auto kept = kept_weights(keys, step, chunk);
    [[maybe_unused]] const auto added = pair_values(keys, step, chunk);
    keys.find_scores(S, chunk);
    weigh<kMasked>(keys, S, factors, added, step, chunk);
    if constexpr (Spec::general) drop_weights(S, keys, kept);
    Keys<Spec>::pack_scores(packed, S);
    keys.over_chunk(keys.dV, packed, keys.smem.dout[keys.stage], chunk);
    keys.find_dp(dP, chunk);
    if constexpr (Spec::general) drop_gradients(dP, keys, kept);
    keys.differentiate(dP, Spec::general ? factors : S, chunk);
    if constexpr (Spec::pairs) differentiate_pairs(keys, dP, S, step, chunk);
    Keys<Spec>::pack_scores(packed, dP);
    keys.put_scores(keys.smem.scores[kDs], packed, chunk);
    keys.over_chunk(keys.dK, packed, keys.smem.q[keys.stage], chunk);
  }
}

template <bool kMasked, class Spec>
__device__ __forceinline__ void find_scores(Keys<Spec>& keys, const Step& step) {
  if constexpr (Spec::shares_scores) {
    share_scores<kMasked>(keys, step);
  } else {
    take_scores<kMasked>(keys, step);
  }
}

template <class Spec>
__device__ __forceinline__ void walk(Keys<Spec>& keys) {
  constexpr bool kAhead = Spec::stages == 2;
  const auto& p = keys.p;
  const WorkOf<Spec>& work = keys.work;
  Smem<Spec>& smem = keys.smem;
  Step step = work.first(p);
  keys.load_keys();
  keys.load_queries(step, 0);
  gpu::cp_async_commit();
#pragma unroll 1
  while (work.is_there(p, step)) {
    gpu::cp_async_wait<0>();
    gpu::sync_block();  // this step's tiles are here for all, and all are done with the step before
    const auto load_next = [&] {
      const Step next = work.next(p, step);
      if (work.is_there(p, next)) keys.load_queries(next, kAhead ? keys.stage ^ 1 : 0);
      gpu::cp_async_commit();
    };
    if constexpr (kAhead) load_next();
    if (!Spec::general && work.is_masked(p, step.q_tile)) {  // the general form asks for itself
      find_scores<true>(keys, step);
    } else {
      find_scores<false>(keys, step);
    }
    gpu::sync_block();  // dS, and P, of all warps
    if constexpr (Spec::shares_scores) {
      keys.over_tile(keys.dV, smem.scores[kP], smem.dout[keys.stage]);
      keys.over_tile(keys.dK, smem.scores[kDs], smem.q[keys.stage]);
      if constexpr (!kAhead) gpu::sync_block();  // all have read Q and dO
    }
    if constexpr (!kAhead) load_next();
    keys.add_dq(step);
    if constexpr (kAhead) keys.stage ^= 1;
    step = work.next(p, step);
  }
}

template <class Spec>
__device__ __forceinline__ WorkOf<Spec> find_work(const typename Spec::Params& p, const Smem<Spec>& smem,
                                                  uint32_t number) {
  if constexpr (Spec::general) {
    return WorkOf<Spec>(smem);
  } else {
    return WorkOf<Spec>(p, number);
  }
}

template <class Spec>
__global__ void __launch_bounds__(Spec::threads, Spec::tuning.blocks_per_sm)
    ampere_backward(const __grid_constant__ typename Spec::Params p) {
  auto& smem = gpu::shared<Smem<Spec>>();
  gpu::griddepcontrol_wait();
  uint32_t number = gpu::block_index();
  if (p.in_order) {  // from a counter, so that all lower numbers have begun
    auto* place = reinterpret_cast<uint32_t*>(smem.delta[0]);
    if (gpu::thread_index() == 0) *place = static_cast<uint32_t>(gpu::fetch_increment(p.counters));
    gpu::sync_block();
    number = *place;
    gpu::sync_block();  // all have read it
  }
  if constexpr (Spec::general) {
    Place& place = smem;
    if (gpu::thread_index() == 0) find_place<Spec>(place, p, number);
    gpu::sync_block();
    if (place.entry == kNoSequence) return;
  }
  const WorkOf<Spec> work = find_work(p, smem, number);
  Keys<Spec> keys(p, smem, work);
  if (work.begin(p) < work.end(p)) walk(keys);
  keys.store_gradients();
}

}  // namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET
