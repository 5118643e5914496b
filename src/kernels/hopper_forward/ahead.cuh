// SPDX-License-Identifier: MIT
// Schedule `ahead`: two tiles of scores, A and B. Q K^T of the next block of keys is issued before the
// softmax of this one, so that the tensor cores have work of this warpgroup while it computes exponentials; P
// V follows as soon as P is there, and is waited for only when the next P is. A tile of query rows begins in
// A; its result is stored in the shadow of the next tile's first block.
#pragma once

#include "kernels/hopper_forward/rows.cuh"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

template <class Spec>
class Ahead {
 public:
  __device__ __forceinline__ Ahead(const Params& params, Smem<Spec>& smem, int warpgroup)
      : rows_(params, smem, warpgroup) {}

  __device__ __forceinline__ void run() {
    Tile tile;
    if (!find_tile<Spec>(rows_.params, 0, tile)) return;
    rows_.clear();
    begin_tile(tile);
    rows_.wait_for_queries();
    issue_q_times_k(A_);
    gpu::wgmma_wait<0>();
    take_scores(A_);
    for (unsigned round = 1;; ++round) {
      int block = rows_.tile.blocks - 1;
      if (block > 0) {
        step<At::tile_begin>(A_, B_, block--);
#pragma unroll 1
        for (; block >= 2; block -= 2) {
          step<At::inside>(B_, A_, block);
          step<At::inside>(A_, B_, block - 1);
        }
        if (block == 1) step<At::inside>(B_, A_, 1);
      }
      // Block 0 is left.
      rows_.release_queries();
      const bool in_a = rows_.tile.blocks % 2 == 1;
      const bool more = find_tile<Spec>(rows_.params, round, tile);
      if (!more) {
        if (in_a) {
          absorb<At::tile_begin, 0>(A_, 0);
        } else {
          absorb<At::inside, 0>(B_, 0);
        }
        finish();
        return;
      }
      rows_.wait_for_queries();
      if (in_a) {
        absorb<At::tile_begin, 0>(A_, 0);
        issue_q_times_k(A_);
        gpu::wgmma_wait<0>();
      } else {
        issue_q_times_k(A_);
        absorb<At::inside, 1>(B_, 0);
        gpu::wgmma_wait<1>();
      }
      take_scores(A_);
      save_sums();
      begin_tile(tile);
    }
  }

 private:
  enum class At { tile_begin, inside };

  Rows<Spec> rows_;
  Scores<Spec> A_, B_;
  int seen_by_all_;
  bool pending_ = false;  // a P V is under way, or at least its stage of V has not been released
  bool unsaved_ = false;  // it is the last one of the tile before, whose result is still to be stored
  Tile done_;             // that tile
  float done_m_[2], done_l_[2];

  // Softmax and P V of `block`, whose scores are here, while Q K^T of the one before it in memory is
  // computed.
  template <At kAt>
  __device__ __forceinline__ void step(Scores<Spec>& S, Scores<Spec>& next, int block) {
    issue_q_times_k(next);
    absorb<kAt, 1>(S, block);
    gpu::wgmma_wait<1>();
    take_scores(next);
  }

  __device__ __forceinline__ void issue_q_times_k(Scores<Spec>& S) {
    rows_.wait_for_keys();
    rows_.issue_q_times_k(S);
  }

  __device__ __forceinline__ void take_scores(Scores<Spec>& S) {
    gpu::pin(S);
    rows_.release_keys();
  }

  // `kSince` groups of products have been issued since the last P V.
  template <At kAt, int kSince>
  __device__ __forceinline__ void absorb(Scores<Spec>& S, int block) {
    if (block >= seen_by_all_) rows_.mask(S, block);
    rows_.update_maximum(S);
    rows_.template exponentials<false>(S);
    gpu::wgmma_wait<kSince>();
    gpu::pin(rows_.O);
    if (kAt == At::inside || pending_) rows_.release_values();
    if (kAt == At::tile_begin && unsaved_) rows_.store(done_, done_m_, done_l_);
    rows_.rescale();
    rows_.pack_p(S);
    rows_.wait_for_values();
    rows_.issue_p_times_v();
    rows_.fresh = false;
    pending_ = true;
    unsaved_ = false;
  }

  __device__ __forceinline__ void begin_tile(const Tile& tile) {
    rows_.tile = tile;
    rows_.fresh = true;
    seen_by_all_ = rows_.blocks_seen_by_all();
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      rows_.m[r] = -INFINITY;
      rows_.l[r] = 0;
    }
  }

  __device__ __forceinline__ void save_sums() {
    done_ = rows_.tile;
    unsaved_ = true;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      done_m_[r] = rows_.m[r];
      done_l_[r] = rows_.l[r];
    }
  }

  __device__ __forceinline__ void finish() {
    gpu::wgmma_wait<0>();
    gpu::pin(rows_.O);
    rows_.release_values();
    rows_.store(rows_.tile, rows_.m, rows_.l);
    rows_.wait_for_stores();
  }
};

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET
