// SPDX-License-Identifier: MIT
// A math warpgroup: 64 rows of a tile against all blocks of keys that they see. Q K^T of a block is issued
// together with P V of the block before, and the softmax between them runs while the other warpgroups have
// the tensor cores.
#pragma once

#include <cmath>

#include "kernels/hopper_forward/tiles.cuh"
#include "primitives/barrier.h"
#include "primitives/convert.h"
#include "primitives/ldmatrix.h"
#include "primitives/math.h"
#include "primitives/mbarrier.h"
#include "primitives/memory.h"
#include "primitives/named_barrier.h"
#include "primitives/proxy_fence.h"
#include "primitives/shared.h"
#include "primitives/shuffle.h"
#include "primitives/stmatrix.h"
#include "primitives/tma.h"
#include "primitives/wgmma.h"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

// One of each per math warpgroup; 0 belongs to sync_block.
enum class Barrier { turn = 1, out = 4 };

// Lane l of warp w has rows 16 w + l / 4 and + 8, and of every 8 columns the pair 2 (l % 4) and the next:
// element i of an accumulator is of row (i / 2) % 2 of them.
template <class Spec>
class Math {
 public:
  __device__ __forceinline__ Math(const Params& params, Smem<Spec>& smem, int warpgroup)
      : params_(params), smem_(smem), warpgroup_(warpgroup), thread_(gpu::thread_index() % kWarpgroup) {}

  __device__ __forceinline__ void run() {
    if (!find_tile<Spec>(params_, 0, tile_)) return;
    if constexpr (kTuning.take_turns) {
      if (warpgroup_ == kMath - 1) pass_turn();  // the first has the first turn
    }
    begin_tile();
    for (unsigned round = 1;; ++round) {
      walk_keys();
      const Tile done = tile_;
      const bool more = find_tile<Spec>(params_, round, tile_);
      if (kTuning.carry_over && more) {
        change_tile(done);
        continue;
      }
      finish_tile(done);
      if (!more) break;
      begin_tile();
    }
    if (thread_ == 0) gpu::tma_store_wait_read<0>();  // shared memory outlives the stores that read it
  }

 private:
  using T = typename Spec::Element;
  static constexpr Tuning kTuning = Spec::tuning;
  static constexpr int kMath = Spec::math_warpgroups;
  static constexpr int kKeys = Spec::tile_kv;

  const Params& params_;
  Smem<Spec>& smem_;
  int warpgroup_, thread_;
  Tile tile_;
  Ring<kTuning.stages> k_ring_, v_ring_;
  Ring<kTuning.q_slots> q_ring_;

  float S_[kKeys / 2];
  float O_[Spec::head_dim / 2];
  uint32_t P_[Spec::key_steps][4];
  uint32_t Q_[kTuning.q_in_registers ? Spec::dim_steps : 1][4];
  float m_[2];  // largest score so far (or, when lazy, a little less), times scale_log2e; -inf: no key seen
  float l_[2];  // sum so far over this lane's columns
  bool fresh_;  // O holds nothing of this tile
  float alpha_[2];  // by which O is to be rescaled, if grown_
  bool grown_;

  // ---- The schedule ----

  // From nothing to P of the tile's last block of keys.
  __device__ __forceinline__ void begin_tile() {
    wait_for_queries();
    wait_full(smem_.k_full, k_ring_);
    issue_q_times_k();
    gpu::wgmma_wait<0>();
    gpu::pin(S_);
    release(smem_.k_free, k_ring_);
    softmax_of_last_block();
    pack_p();
    fresh_ = true;
  }

  // From P of the last block to P of the first one.
  __device__ __forceinline__ void walk_keys() {
    const int seen_by_all = params_.problem.visible_keys(first_row() / params_.problem.pack) / kKeys;
    int block = tile_.blocks - 2;
#pragma unroll 1
    for (; block >= seen_by_all; --block) step<true>(block);
#pragma unroll 1
    for (; block >= 0; --block) step<false>(block);
    if constexpr (!kTuning.q_in_registers && kTuning.own_out) release(smem_.q_free[warpgroup_], q_ring_);
  }

  template <bool kMasked>
  __device__ __forceinline__ void step(int block) {
    wait_full(smem_.k_full, k_ring_);
    issue_both();
    gpu::wgmma_wait<1>();
    gpu::pin(S_);
    release(smem_.k_free, k_ring_);
    if constexpr (kMasked) mask(block);
    update_maximum();
    exponentials<false>();
    gpu::wgmma_wait<0>();
    gpu::pin(O_);
    release(smem_.v_free, v_ring_);
    rescale();
    pack_p();
    fresh_ = false;
  }

  // The last P V of a tile, together with the beginning of the next.
  __device__ __forceinline__ void change_tile(const Tile& done) {
    wait_for_queries();
    wait_full(smem_.k_full, k_ring_);
    issue_both();
    gpu::wgmma_wait<1>();
    gpu::pin(S_);
    release(smem_.k_free, k_ring_);
    const float m[2] = {m_[0], m_[1]};
    const float l[2] = {l_[0], l_[1]};
    softmax_of_last_block();
    gpu::wgmma_wait<0>();
    gpu::pin(O_);
    release(smem_.v_free, v_ring_);
    store(done, m, l);
    pack_p();
    fresh_ = true;
  }

  __device__ __forceinline__ void finish_tile(const Tile& done) {
    wait_full(smem_.v_full, v_ring_);
    issue_p_times_v();
    gpu::wgmma_wait<0>();
    gpu::pin(O_);
    release(smem_.v_free, v_ring_);
    store(done, m_, l_);
    if constexpr (!kTuning.own_out) q_ring_.advance();
  }

  __device__ __forceinline__ void issue_both() {
    if constexpr (kTuning.take_turns)
      gpu::named_barrier_sync(number(Barrier::turn, warpgroup_), 2 * kWarpgroup);
    issue_q_times_k();
    wait_full(smem_.v_full, v_ring_);
    issue_p_times_v();
    if constexpr (kTuning.take_turns) pass_turn();
  }

  __device__ __forceinline__ void pass_turn() {
    gpu::named_barrier_arrive(number(Barrier::turn, warpgroup_ + 1 == kMath ? 0 : warpgroup_ + 1),
                              2 * kWarpgroup);
  }

  __device__ __forceinline__ void softmax_of_last_block() {
    const int block = tile_.blocks - 1;
    if (params_.problem.visible_keys(first_row() / params_.problem.pack) < (block + 1) * kKeys) mask(block);
    begin_maximum();
    exponentials<true>();
  }

  // ---- Matrix products ----

  // S = Q K^T.
  __device__ __forceinline__ void issue_q_times_k() {
    const uint32_t k = gpu::descriptor_low(gpu::shared_address(smem_.k[k_ring_.stage]), 0);
    const uint32_t q = gpu::descriptor_low(gpu::shared_address(smem_.q[warpgroup_][q_ring_.stage]), 0);
    gpu::pin(S_);
    if constexpr (kTuning.q_in_registers) gpu::pin(Q_);
    gpu::wgmma_fence();
#pragma unroll
    for (int step = 0; step < Spec::dim_steps; ++step) {
      const uint64_t b =
          gpu::descriptor(k + along_head_dim(step, Spec::kv_slab_bytes) / 16, Spec::descriptor_high);
      if constexpr (kTuning.q_in_registers) {
        gpu::wgmma_rs<T, false>(S_, Q_[step], b, step > 0);
      } else {
        const uint64_t a =
            gpu::descriptor(q + along_head_dim(step, Spec::q_slab_bytes) / 16, Spec::descriptor_high);
        gpu::wgmma_ss<T, false>(S_, a, b, step > 0);
      }
    }
    gpu::wgmma_commit();
  }

  // O += P V.
  __device__ __forceinline__ void issue_p_times_v() {
    const uint32_t v = gpu::descriptor_low(gpu::shared_address(smem_.v[v_ring_.stage]), Spec::kv_slab_bytes);
    gpu::pin(O_);
    gpu::pin(P_);
    gpu::wgmma_fence();
#pragma unroll
    for (int step = 0; step < Spec::key_steps; ++step) {
      const uint64_t b = gpu::descriptor(v + 16 * step * Spec::row_bytes / 16, Spec::descriptor_high);
      gpu::wgmma_rs<T, true>(O_, P_[step], b, !fresh_ || step > 0);
    }
    gpu::wgmma_commit();
  }

  // Bytes to 16 columns of head_dim, in a tile whose slabs have so many bytes.
  static __device__ __forceinline__ constexpr uint32_t along_head_dim(int step, int slab_bytes) {
    constexpr int kStepsPerSlab = Spec::slab_columns / 16;
    return static_cast<uint32_t>(step / kStepsPerSlab * slab_bytes + step % kStepsPerSlab * 32);
  }

  // ---- Softmax ----

  // Scores of keys that a row does not see become -inf.
  __device__ __forceinline__ void mask(int block) {
    const ForwardParams& p = params_.problem;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = first_row() + lane_row() + 8 * r;
      const int visible = p.visible_keys(row / p.pack) - block * kKeys - 2 * (gpu::lane_index() % 4);
#pragma unroll
      for (int i = 0; i < kKeys / 2; ++i) {
        if (i / 2 % 2 == r && 8 * (i / 4) + i % 2 >= visible) S_[i] = -INFINITY;
      }
    }
  }

  // The largest score of each of the lane's rows.
  __device__ __forceinline__ void find_largest(float (&largest)[2]) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float even = fmaxf(S_[2 * r], S_[2 * r + 1]);
      float odd = fmaxf(S_[2 * r + 4], S_[2 * r + 5]);
#pragma unroll
      for (int i = 8 + 2 * r; i < kKeys / 2; i += 8) {
        even = fmaxf(even, fmaxf(S_[i], S_[i + 1]));
        odd = fmaxf(odd, fmaxf(S_[i + 4], S_[i + 5]));
      }
      float x = fmaxf(even, odd);
      x = fmaxf(x, gpu::shuffle_xor(x, 1));
      largest[r] = fmaxf(x, gpu::shuffle_xor(x, 2));
    }
  }

  __device__ __forceinline__ void begin_maximum() {
    float largest[2];
    find_largest(largest);
#pragma unroll
    for (int r = 0; r < 2; ++r) m_[r] = largest[r] * params_.problem.scale_log2e;
  }

  // Brings m and l up to date, and says by what O has to follow.
  __device__ __forceinline__ void update_maximum() {
    float largest[2];
    find_largest(largest);
    const float scale = params_.problem.scale_log2e;
    // Where no key has been seen this is infinite, or NaN while there still is none: then m stays -inf.
    const float growth = fmaxf(largest[0] * scale - m_[0], largest[1] * scale - m_[1]);
    grown_ = !kTuning.lazy_rescale || gpu::any_lane(growth > kLazyGrowth);
    if (!grown_) return;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float m = fmaxf(m_[r], largest[r] * scale);
      alpha_[r] = gpu::ex2(m_[r] - finite(m));
      l_[r] *= alpha_[r];
      m_[r] = m;
    }
  }

  // A row that has seen no key has the maximum -inf; taken as 0 it gives weights 0, not NaN.
  static __device__ __forceinline__ float finite(float m) { return m == -INFINITY ? 0.0F : m; }

  // S becomes exp2(scale S - m), and l its sum.
  template <bool kFirst>
  __device__ __forceinline__ void exponentials() {
    const float scale = params_.problem.scale_log2e;
    const float base[2] = {finite(m_[0]), finite(m_[1])};
    float even[2] = {0, 0};
    float odd[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < kKeys / 2; ++i) {
      const int r = i / 2 % 2;
      S_[i] = gpu::ex2(fmaf(S_[i], scale, -base[r]));
      (i % 2 == 0 ? even : odd)[r] += S_[i];
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) l_[r] = kFirst ? even[r] + odd[r] : l_[r] + (even[r] + odd[r]);
  }

  __device__ __forceinline__ void rescale() {
    if (!grown_) return;
#pragma unroll
    for (int i = 0; i < Spec::head_dim / 2; ++i) O_[i] *= alpha_[i / 2 % 2];
  }

  // The accumulators of S are, packed in pairs, the register operand of P V.
  __device__ __forceinline__ void pack_p() {
#pragma unroll
    for (int i = 0; i < kKeys / 4; ++i) P_[i / 4][i % 4] = gpu::pack<T>(S_[2 * i], S_[2 * i + 1]);
  }

  // ---- Results ----

  // O / l through shared memory to global memory, and the LSE.
  __device__ __forceinline__ void store(const Tile& done, const float (&m)[2], const float (&l)[2]) {
    float inverse[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float sum = l[r];
      sum += gpu::shuffle_xor(sum, 1);
      sum += gpu::shuffle_xor(sum, 2);
      inverse[r] = sum == 0 ? 0.0F : 1.0F / sum;
      store_lse(done, done.first_row + warpgroup_ * kWarpgroupRows + lane_row() + 8 * r, m[r], sum);
    }
    unsigned char* tile = smem_.q[warpgroup_][q_ring_.stage];
    if constexpr (kTuning.own_out) {
      tile = smem_.own_out[warpgroup_];
      if (thread_ == 0) gpu::tma_store_wait_read<0>();  // of the tile before
    }
    sync_warpgroup();
    const uint32_t rows = matrix_address(gpu::shared_address(tile));
#pragma unroll
    for (int step = 0; step < Spec::dim_steps; ++step) {
      uint32_t fragment[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = 8 * step + 2 * i;
        fragment[i] = gpu::pack<T>(O_[at] * inverse[i % 2], O_[at + 1] * inverse[i % 2]);
      }
      gpu::stmatrix_x4(at_columns(rows, step), fragment);
    }
    gpu::fence_proxy_async();
    sync_warpgroup();
    if (thread_ != 0) return;
    const int pack = params_.problem.pack;
#pragma unroll
    for (int slab = 0; slab < Spec::slabs; ++slab) {
      gpu::tma_store_5d(params_.out, gpu::shared_address(tile) + slab * Spec::q_slab_bytes,
                        slab * Spec::slab_columns, 0, (done.first_row + warpgroup_ * kWarpgroupRows) / pack,
                        done.head / pack, done.batch);
    }
    gpu::tma_store_commit();
    if constexpr (!kTuning.own_out) {
      gpu::tma_store_wait_read<0>();
      gpu::mbarrier_arrive(gpu::shared_address(&smem_.q_free[warpgroup_][0]));
    }
  }

  __device__ __forceinline__ void store_lse(const Tile& done, int row, float m, float l) const {
    const ForwardParams& p = params_.problem;
    if (p.lse == nullptr || gpu::lane_index() % 4 != 0 || row >= p.q_rows * p.pack) return;
    const int64_t head = int64_t{done.batch} * p.q_heads + done.head + row % p.pack;
    const float lse = l == 0 ? -INFINITY : (m + gpu::lg2(l)) * 0.6931471805599453F;
    gpu::store_global(p.lse + head * p.q_rows + row / p.pack, lse);
  }

  // ---- Places ----

  __device__ __forceinline__ int first_row() const { return tile_.first_row + warpgroup_ * kWarpgroupRows; }
  __device__ __forceinline__ int lane_row() const { return 16 * (thread_ / 32) + gpu::lane_index() / 4; }

  // What this lane tells ldmatrix and stmatrix: the warp's 16 rows at columns 0 to 15 of a tile of 64 rows.
  __device__ __forceinline__ uint32_t matrix_address(uint32_t tile) const {
    const int lane = gpu::lane_index();
    const int row = 16 * (thread_ / 32) + lane % 16;
    constexpr int kSwizzledRows =
        Spec::slab_columns / 8;  // chunks of 16 bytes per row, and rows until they repeat
    const int swizzle = row * Spec::row_bytes / 128 % kSwizzledRows;
    return tile + row * Spec::row_bytes + 16 * (lane / 16 ^ swizzle);
  }
  static __device__ __forceinline__ uint32_t at_columns(uint32_t address, int step) {
    constexpr int kStepsPerSlab = Spec::slab_columns / 16;
    return (address ^ (32 * (step % kStepsPerSlab))) + step / kStepsPerSlab * Spec::q_slab_bytes;
  }

  // ---- Waiting for one another ----

  __device__ __forceinline__ void wait_for_queries() {
    wait_full(smem_.q_full[warpgroup_], q_ring_);
    if constexpr (kTuning.q_in_registers) {
      const uint32_t rows = matrix_address(gpu::shared_address(smem_.q[warpgroup_][q_ring_.stage]));
#pragma unroll
      for (int step = 0; step < Spec::dim_steps; ++step) gpu::ldmatrix_x4(Q_[step], at_columns(rows, step));
      gpu::sync_warp();
      if (gpu::lane_index() == 0)
        gpu::mbarrier_arrive(gpu::shared_address(&smem_.q_free[warpgroup_][q_ring_.stage]));
      q_ring_.advance();
    }
  }

  // Only before the wgmma that reads the place: once one warp has released it, the barrier may move on under
  // the others.
  template <int kStages>
  static __device__ __forceinline__ void wait_full(uint64_t (&full)[kStages], const Ring<kStages>& ring) {
    gpu::mbarrier_wait(gpu::shared_address(&full[ring.stage]), ring.turn);
  }

  template <int kStages>
  __device__ __forceinline__ void release(uint64_t (&free)[kStages], Ring<kStages>& ring) {
    if (thread_ == 0) gpu::mbarrier_arrive(gpu::shared_address(&free[ring.stage]));
    ring.advance();
  }

  __device__ __forceinline__ void sync_warpgroup() {
    gpu::named_barrier_sync(number(Barrier::out, warpgroup_), kWarpgroup);
  }

  static __device__ __forceinline__ int number(Barrier barrier, int warpgroup) {
    return static_cast<int>(barrier) + warpgroup;
  }
};

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET
