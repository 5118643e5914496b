// SPDX-License-Identifier: MIT
// hopper_forward: attention by wgmma and TMA, for sm_90a.
// After FlashAttention-3 (Shah et al., 2024): one warpgroup loads, the others compute; S, P, O, m, l are the
// papers' letters. Bound: tensor cores (and the chip's power) at head_dim 128 and 256, exponentials beside
// them at 64. Blocks are persistent: each walks over tiles of query rows, and a tile's end overlaps
// with the beginning of the next; or two share an SM, with a tile each. The schedule is drawn in NOTES.md;
// load.cuh has the loader, persistent.cuh and one_tile.cuh the others, tiles.cuh what they agree on.
#pragma once

#include <type_traits>

#include "kernels/hopper_forward/load.cuh"
#include "kernels/hopper_forward/one_tile.cuh"
#include "kernels/hopper_forward/persistent.cuh"
#include "primitives/barrier.h"
#include "primitives/cluster.h"
#include "primitives/control.h"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

template <class Spec>
__device__ __forceinline__ void init_barriers(Smem<Spec>& smem) {
  constexpr int kMath = Spec::math_warpgroups;
  for (int i = 0; i < Spec::tuning.stages; ++i) {
    gpu::mbarrier_init(gpu::shared_address(&smem.k_full[i]), 1);
    gpu::mbarrier_init(gpu::shared_address(&smem.v_full[i]), 1);
    gpu::mbarrier_init(gpu::shared_address(&smem.k_free[i]), kMath);
    gpu::mbarrier_init(gpu::shared_address(&smem.v_free[i]), kMath);
  }
  for (int w = 0; w < kMath; ++w) {
    for (int i = 0; i < Spec::tuning.q_slots; ++i) {
      gpu::mbarrier_init(gpu::shared_address(&smem.q_full[w][i]), 1);
      gpu::mbarrier_init(gpu::shared_address(&smem.q_free[w][i]), Spec::tuning.q_in_registers ? 4 : 1);
    }
  }
  if constexpr (Spec::adds_bias) {
    for (int w = 0; w < kMath; ++w) {
      gpu::mbarrier_init(gpu::shared_address(&smem.bias_full[w]), 1);
      gpu::mbarrier_init(gpu::shared_address(&smem.bias_free[w]), 4);
    }
  }
  gpu::fence_mbarrier_init();
}

template <class Spec>
__global__ void __launch_bounds__(Spec::threads, Spec::tuning.blocks_per_sm)
    hopper_forward(const __grid_constant__ Params params) {
  if constexpr (gpu::kHasWgmma) {
    auto& smem = gpu::shared<Smem<Spec>>();
    if (gpu::thread_index() == 0) init_barriers<Spec>(smem);
    gpu::sync_block();
    const int warpgroup = gpu::warp_index() / 4;
    if (warpgroup == Spec::math_warpgroups) {
      gpu::setmaxnreg_dec<Spec::registers.load>();
      if (gpu::thread_index() == Spec::math_warpgroups * kWarpgroup) load_tiles<Spec>(params, smem);
    } else {
      gpu::setmaxnreg_inc<Spec::registers.math>();
      using Math = std::conditional_t<Spec::tuning.blocks_per_sm == 1, Persistent<Spec>, OneTile<Spec>>;
      Math(params, smem, warpgroup).run();
    }
  } else {
    gpu::refuse_architecture();
  }
}

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET
