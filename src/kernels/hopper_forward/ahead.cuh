// SPDX-License-Identifier: MIT
// Schedule `ahead`: two tiles of scores, A and B, that take turns. Q K^T of the next block of keys is issued
// before the softmax of this one, so that the tensor cores have work of this warpgroup while it computes
// exponentials; P V follows as soon as P is there, and is waited for only when the next P is. Blocks of all
// tiles form one sequence: a tile's first Q K^T runs under the softmax of the one before, and a result is
// stored in the shadow of the next tile's first block.
#pragma once

#include "kernels/hopper_forward/rows.cuh"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

template <class Spec>
class Ahead {
 public:
  __device__ __forceinline__ Ahead(const Params& params, Smem<Spec>& smem, int warpgroup)
      : rows_(params, smem, warpgroup) {}

  __device__ __forceinline__ void run() {
    if (!next_tile(0)) return;
    rows_.clear();
    --block_issued_;
    rows_.wait_for_queries();
    rows_.wait_for_keys();
    rows_.issue_q_times_k(A_);
    gpu::wgmma_wait<0>();
    take_scores(A_);
    while (true) {
      if (!step(A_, B_)) {
        absorb<0>(A_);
        break;
      }
      if (!step(B_, A_)) {
        absorb<0>(B_);
        break;
      }
    }
    gpu::wgmma_wait<0>();
    gpu::pin(rows_.O);
    rows_.release_values();
    rows_.store(rows_.tile, rows_.m, rows_.l);
    rows_.wait_for_stores();
  }

 private:
  Rows<Spec> rows_;
  Scores<Spec> A_, B_;

  // The scores that were asked for last.
  unsigned round_issued_ = 0;
  int blocks_issued_;  // of the tile
  int block_issued_;
  // The scores that are here.
  unsigned round_;
  int block_;
  int seen_by_all_;
  bool begins_;                  // it is the first one of its tile
  bool pending_ = false;         // a P V has been issued before
  float done_m_[2], done_l_[2];  // of the tile before, until it is stored

  // Softmax and P V of the block that is here, while Q K^T of the next is computed. False, and nothing done,
  // when there is no next.
  __device__ __forceinline__ bool step(Scores<Spec>& S, Scores<Spec>& next) {
    if (block_issued_ == 0) {
      if (!next_tile(round_issued_ + 1)) return false;
      rows_.release_queries();
      rows_.wait_for_queries();
    }
    --block_issued_;
    rows_.wait_for_keys();
    rows_.issue_q_times_k(next);
    absorb<1>(S);
    gpu::wgmma_wait<1>();
    take_scores(next);
    return true;
  }

  __device__ __forceinline__ bool next_tile(unsigned round) {
    Tile tile;
    if (!find_tile<Spec>(rows_.params, round, tile)) return false;
    round_issued_ = round;
    blocks_issued_ = tile.blocks;
    block_issued_ = tile.blocks;
    return true;
  }

  __device__ __forceinline__ void store_tile_before() {
    Tile done;
    find_tile<Spec>(rows_.params, round_ - 1, done);
    rows_.store(done, done_m_, done_l_);
  }

  __device__ __forceinline__ void take_scores(Scores<Spec>& S) {
    gpu::pin(S);
    rows_.release_keys();
    block_ = block_issued_;
    begins_ = block_ == blocks_issued_ - 1;
    round_ = round_issued_;
  }

  // `kSince` groups of products have been issued since the last P V.
  template <int kSince>
  __device__ __forceinline__ void absorb(Scores<Spec>& S) {
    const bool begins = begins_;
    if (begins) begin_tile();
    if (block_ >= seen_by_all_) rows_.mask(S, block_);
    rows_.update_maximum(S);
    rows_.template exponentials<false>(S);
    gpu::wgmma_wait<kSince>();
    gpu::pin(rows_.O);
    if (pending_) rows_.release_values();
    if (begins && pending_) store_tile_before();
    rows_.rescale();
    rows_.pack_p(S);
    rows_.wait_for_values();
    rows_.issue_p_times_v();
    rows_.fresh = false;
    pending_ = true;
  }

  // The tile before is done but for its last P V, and for storing it.
  __device__ __forceinline__ void begin_tile() {
    find_tile<Spec>(rows_.params, round_, rows_.tile);
    rows_.fresh = true;
    seen_by_all_ = rows_.blocks_seen_by_all();
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      done_m_[r] = rows_.m[r];
      done_l_[r] = rows_.l[r];
      rows_.m[r] = -INFINITY;
      rows_.l[r] = 0;
    }
  }
};

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET
