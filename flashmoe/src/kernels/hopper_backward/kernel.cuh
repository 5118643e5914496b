// SPDX-License-Identifier: MIT
// hopper_backward: dK and dV of attention, and the sums of dQ, by wgmma and TMA, for sm_90a.
// After FlashAttention-3 (Shah et al., 2024); S, P, dP, dS are the papers' letters. Bound: shared memory's
// bandwidth and the chip's power at head_dim 128, overlap at 64.
// A block has 128 keys (64 at head_dim 256), whose dK and dV stay in registers while Q and dO of all query
// heads that share them stream by. Roles: one warp loads; two warpgroups compute; two warps add their dQ to
// the sums.
// The schedule is drawn in NOTES.md; steps.cuh has it, keys.cuh its pieces, tiles.cuh what all roles agree
// on.
#pragma once

#include "kernels/hopper_backward/load.cuh"
#include "kernels/hopper_backward/persistent.cuh"
#include "kernels/hopper_backward/reduce.cuh"
#include "kernels/hopper_backward/steps.cuh"
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
  if constexpr (Spec::persistent) init(smem.keys_free, kMathWarps + kMathWarpgroups);  // those that reduce
  gpu::fence_mbarrier_init();
}

template <class Spec>
__device__ __forceinline__ void compute(const Params& params, Smem<Spec>& smem, const Work& work,
                                        int warpgroup) {
  Keys<Spec> keys(params, smem, warpgroup);
  keys.begin(work);
  if (work.steps == 0) {
#pragma unroll
    for (int i = 0; i < Spec::own_columns / 2; ++i) keys.dK[i] = keys.dV[i] = 0;
  } else {
    keys.wait_full(smem.k_full, 0);
    keys.wait_full(smem.v_full, 0);
    if constexpr (Spec::shares_keys) {
      walk_shared(keys, work);
    } else {
      walk(keys, work, 0);
      find_last_dq(keys);
      keys.put_dq();
    }
  }
  // Found anew: to keep it in registers all along would leave too few for the loop.
  keys.store_gradients(find_work<Spec>(params, tile_number(params, smem)));
}

template <class Spec>
__device__ __forceinline__ void run_one_tile(const Params& params, Smem<Spec>& smem) {
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
}

template <class Spec>
__global__ void __launch_bounds__(kThreads, 1) hopper_backward(const __grid_constant__ Params params) {
  if constexpr (gpu::kHasWgmma) {
    auto& smem = gpu::shared<Smem<Spec>>();
    if (gpu::thread_index() == 0) init_barriers<Spec>(smem);
    gpu::griddepcontrol_wait();
    if constexpr (Spec::persistent) {
      gpu::sync_block();
      run_persistent<Spec>(params, smem);
    } else {
      run_one_tile<Spec>(params, smem);
    }
  } else {
    gpu::refuse_architecture();
  }
}

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET
