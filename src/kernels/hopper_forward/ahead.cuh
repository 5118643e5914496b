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
    if (!next_tile()) return;
    rows_.clear();
    --block_;
    rows_.wait_for_keys();
    rows_.issue_q_times_k(A_);
    gpu::wgmma_wait<0>();
    take_scores(A_);
    while (true) {
      if (!step(A_, B_)) {
        absorb<0>(A_, 0, first_, rows_.round - 1);
        break;
      }
      if (!step(B_, A_)) {
        absorb<0>(B_, 0, first_, rows_.round - 1);
        break;
      }
    }
    gpu::wgmma_wait<0>();
    gpu::pin(rows_.O);
    rows_.release_values();
    rows_.store(rows_.note_of(rows_.round - 1), rows_.m, rows_.l);
    rows_.wait_for_stores();
  }

 private:
  Rows<Spec> rows_;
  Scores<Spec> A_, B_;

  // The scores that were asked for last are of this block of keys of tile rows_.round.
  int block_;
  bool first_;                   // of those of the tile that the warpgroup sees
  bool pending_ = false;         // a P V has been issued before
  float done_m_[2], done_l_[2];  // of the tile before, until it is stored

  // Softmax and P V of the block that is here, while Q K^T of the next is computed. False, and nothing done,
  // when there is no next.
  __device__ __forceinline__ bool step(Scores<Spec>& S, Scores<Spec>& next) {
    const int block = block_;
    const bool first = first_;
    const unsigned round = rows_.round;
    if (block == 0) {
      rows_.release_queries();
      if (!next_tile()) return false;
    } else {
      first_ = false;
    }
    --block_;
    rows_.wait_for_keys();
    rows_.issue_q_times_k(next);
    absorb<1>(S, block, first, round);
    gpu::wgmma_wait<1>();
    take_scores(next);
    return true;
  }

  __device__ __forceinline__ bool next_tile() {
    if (!rows_.next_tile()) return false;
    const auto& note = rows_.note_of(rows_.round);
    rows_.skip_keys(rows_.unseen(note));
    block_ = note.seen[rows_.warpgroup];
    first_ = true;
    return true;
  }

  __device__ __forceinline__ void take_scores(Scores<Spec>& S) {
    gpu::pin(S);
    rows_.release_keys();
  }

  // `kSince` groups of products have been issued since the last P V.
  template <int kSince>
  __device__ __forceinline__ void absorb(Scores<Spec>& S, int block, bool first, unsigned round) {
    if (first) begin_tile(round);
    if (block >= rows_.seen_by_all) rows_.mask(S, block);
    rows_.update_maximum(S);
    rows_.template exponentials<false>(S);
    gpu::wgmma_wait<kSince>();
    gpu::pin(rows_.O);
    if (pending_) rows_.release_values();
    if (first) {
      rows_.skip_values(rows_.unseen(rows_.note_of(round)));
      if (pending_) rows_.store(rows_.note_of(round - 1), done_m_, done_l_);
    }
    rows_.rescale();
    rows_.pack_p(S);
    rows_.wait_for_values();
    rows_.issue_p_times_v();
    rows_.fresh = false;
    pending_ = true;
  }

  // The tile before is done but for its last P V, and for storing it.
  __device__ __forceinline__ void begin_tile(unsigned round) {
    rows_.enter(rows_.note_of(round));
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
