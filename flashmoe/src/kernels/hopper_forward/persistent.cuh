// SPDX-License-Identifier: MIT
// The schedule of a math warpgroup of a persistent block: Q K^T of a block of keys is issued together with
// P V of the block before; the softmax between them runs while the other warpgroups have the tensor cores.
#pragma once

#include "kernels/hopper_forward/rows.cuh"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

template <class Spec>
class Persistent {
 public:
  __device__ __forceinline__ Persistent(const Params& params, Smem<Spec>& smem, int warpgroup)
      : rows_(params, smem, warpgroup) {}

  __device__ __forceinline__ void run() {
    if (rows_.warpgroup == Spec::math_warpgroups - 1) rows_.pass_turn();  // the first has the first turn
    bool more = rows_.next_tile();
    if (more) begin_tile();
    while (more) {
      walk_keys();
      more = rows_.next_tile();
      if (more) {
        change_tile();
      } else {
        finish_tile();
      }
    }
    rows_.wait_for_stores();
  }

 private:
  Rows<Spec> rows_;
  Scores<Spec> S_;

  // From nothing to P of the tile's last block of keys.
  __device__ __forceinline__ void begin_tile() {
    rows_.fresh = true;
    rows_.skip_keys(rows_.unseen);
    rows_.skip_values(rows_.unseen);
    rows_.wait_for_keys();
    rows_.issue_q_times_k(S_);
    gpu::wgmma_wait<0>();
    gpu::pin(S_);
    rows_.release_keys();
    rows_.release_loaded_queries();
    rows_.begin_softmax(S_, rows_.seen - 1);
    rows_.pack_p(S_);
  }

  // From P of the last block to P of the first one.
  __device__ __forceinline__ void walk_keys() {
#pragma unroll 1
    for (int i = rows_.unseen; i > 0; --i) {  // while the others see them
      rows_.wait_for_turn();
      rows_.pass_turn();
    }
    int block = rows_.seen - 2;
    int masked_from = rows_.seen_by_all;
    do {  // runs: masked blocks, full ones, and masked ones again, by the same code
#pragma unroll 1
      for (; block >= masked_from; --block) step<true>(block);
#pragma unroll 1
      for (; block >= rows_.full_from; --block) step<false>(block);
      masked_from = 0;
    } while (Spec::runs && block >= 0);
    rows_.release_queries();
  }

  template <bool kMasked>
  __device__ __forceinline__ void step(int block) {
    issue_both();
    if constexpr (kMasked) rows_.load_mask(block);
    gpu::wgmma_wait<1>();
    gpu::pin(S_);
    rows_.release_keys();
    rows_.change(S_, block);
    if constexpr (kMasked) rows_.mask(S_, block);
    rows_.update_maximum(S_);
    rows_.template exponentials<false>(S_);
    gpu::wgmma_wait<0>();
    gpu::pin(rows_.O);
    rows_.release_values();
    rows_.rescale();
    rows_.pack_p(S_);
    rows_.fresh = false;
  }

  // The last P V of a tile, together with the beginning of the next.
  __device__ __forceinline__ void change_tile() {
    rows_.skip_keys(rows_.unseen);
    issue_both();
    gpu::wgmma_wait<1>();
    gpu::pin(S_);
    rows_.release_keys();
    rows_.release_loaded_queries();
    const float m[2] = {rows_.m[0], rows_.m[1]};
    const float l[2] = {rows_.l[0], rows_.l[1]};
    rows_.begin_softmax(S_, rows_.seen - 1);
    gpu::wgmma_wait<0>();
    gpu::pin(rows_.O);
    rows_.release_values();
    rows_.skip_values(rows_.unseen);
    rows_.store(rows_.round - 1, m, l);
    rows_.fresh = true;
    rows_.pack_p(S_);
  }

  __device__ __forceinline__ void finish_tile() {
    rows_.wait_for_values();
    rows_.issue_p_times_v();
    gpu::wgmma_wait<0>();
    gpu::pin(rows_.O);
    rows_.release_values();
    rows_.store(rows_.round - 1, rows_.m, rows_.l);
  }

  __device__ __forceinline__ void issue_both() {
    rows_.wait_for_keys();
    rows_.wait_for_turn();
    rows_.issue_q_times_k(S_);
    rows_.wait_for_values();
    rows_.issue_p_times_v();
    rows_.pass_turn();
  }
};

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET
