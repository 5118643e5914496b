// SPDX-License-Identifier: MIT
// The schedule of a math warpgroup where two blocks share an SM, with a tile each: products and softmax one
// after the other. Whatever one warpgroup waits for, be it its first keys or its last store, three others
// have work.
#pragma once

#include "kernels/hopper_forward/rows.cuh"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

template <class Spec>
class OneTile {
 public:
  __device__ __forceinline__ OneTile(const Params& params, Smem<Spec>& smem, int warpgroup)
      : rows_(params, smem, warpgroup) {}

  __device__ __forceinline__ void run() {
    const bool has_tile = rows_.next_tile();
    if (Spec::lengths && !has_tile) return;  // else the grid has as many blocks as there are tiles
    rows_.skip_keys(rows_.unseen);
    rows_.skip_values(rows_.unseen);
    first_step(rows_.seen - 1);
    int block = rows_.seen - 2;
    int masked_from = rows_.seen_by_all;
    do {  // runs: masked blocks, full ones, and masked ones again, by the same code
#pragma unroll 1
      for (; block >= masked_from; --block) step<true>(block);
#pragma unroll 1
      for (; block >= rows_.full_from; --block) step<false>(block);
      masked_from = 0;
    } while (Spec::runs && block >= 0);
    rows_.store(0, rows_.m, rows_.l);
    rows_.wait_for_stores();
  }

 private:
  Rows<Spec> rows_;

  __device__ __forceinline__ void first_step(int block) {
    Scores<Spec> S;
    multiply_by_keys(S);
    rows_.begin_softmax(S, block);
    rows_.pack_p(S);
    rows_.fresh = true;
    add_values();
    rows_.fresh = false;
  }

  template <bool kMasked>
  __device__ __forceinline__ void step(int block) {
    Scores<Spec> S;
    if constexpr (kMasked) rows_.load_mask(block);
    multiply_by_keys(S);
    rows_.change(S, block);
    if constexpr (kMasked) rows_.mask(S, block);
    rows_.update_maximum(S);
    rows_.rescale();
    rows_.template exponentials<false>(S);
    rows_.pack_p(S);
    add_values();
  }

  __device__ __forceinline__ void multiply_by_keys(Scores<Spec>& S) {
    rows_.wait_for_keys();
    rows_.issue_q_times_k(S);
    gpu::wgmma_wait<0>();
    gpu::pin(S);
    rows_.release_keys();
  }

  __device__ __forceinline__ void add_values() {
    rows_.wait_for_values();
    rows_.issue_p_times_v();
    gpu::wgmma_wait<0>();
    gpu::pin(rows_.O);
    rows_.release_values();
  }
};

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET
