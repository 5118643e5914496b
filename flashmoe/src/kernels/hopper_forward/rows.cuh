// SPDX-License-Identifier: MIT
// What a math warpgroup does with its 64 rows of a tile, piece by piece, until they are stored (store.cuh).
// The order of the pieces is the schedule: persistent.cuh where a block walks over many tiles, one_tile.cuh
// where it has one.
#pragma once

#include <cmath>

#include "kernels/hopper_forward/store.cuh"
#include "kernels/hopper_forward/tiles.cuh"
#include "kernels/large_scores.h"
#include "kernels/load_row_table.h"
#include "primitives/arithmetic.h"
#include "primitives/barrier.h"
#include "primitives/mbarrier.h"
#include "primitives/memory.h"
#include "primitives/shared.h"
#include "primitives/shuffle.h"
#include "primitives/warp_matrix.h"
#include "primitives/wgmma.h"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

template <class Spec>
using Scores = float[Spec::tile_kv / 2];

template <class Spec>
struct Rows : OutputRows<Spec> {
  using T = typename Spec::Element;
  using Output = OutputRows<Spec>;
  using Output::at_columns;
  using Output::kTuning;
  using Output::lane_row;
  using Output::matrix_address;
  using Output::number;
  using Output::O;
  using Output::params;
  using Output::smem;
  using Output::thread;
  using Output::warp;
  using Output::warpgroup;
  static constexpr int kMath = Spec::math_warpgroups;
  static constexpr int kKeys = Spec::tile_kv;

  unsigned round = ~0U;  // of the tile
  int first_row;         // of the warpgroup in the tile, packed
  int seen;              // blocks of keys
  int unseen;            // blocks of keys behind them that only other warpgroups see
  int seen_by_all;       // blocks of keys that all rows see to the end
  int full_from = 0;     // the first block of keys that all rows see from its beginning
  int first_block = 0;   // that the numbers of the others count from
  Ring<kTuning.stages> k_ring, v_ring;
  Ring<kTuning.q_slots> q_ring;
  Ring<1> bias_ring;

  uint32_t P[Spec::key_steps][4];
  uint32_t Q[kTuning.q_in_registers ? Spec::dim_steps : 1][4];
  float m[2];  // largest score so far (or, when lazy, a little less), times scale_log2e; -inf: no key seen
  float l[2];  // sum so far over this lane's columns
  bool fresh;  // O holds nothing of this tile
  float alpha[2];  // by which O is to be rescaled, if grown
  bool grown;
  Run runs[Spec::by_rows ? 2 : 1];  // what the lane's rows see, from the table
  Runs rule;                        // Visible::lengths: of the sequence, and its keys before the first
  int hidden_keys;
  const PairWords* words;                // Visible::bits: of the head's first row
  uint32_t kept[Spec::by_bits ? 2 : 1];  // and what stays of a masked block, in the lane's rows
  float slope[2];                        // Change::slopes: of the lane's rows, over the scale

  __device__ __forceinline__ Rows(const Params& all_params, Smem<Spec>& shared, int which)
      : Output(all_params, shared, which) {}

  // ---- Tiles ----

  // Goes to the block's next tile, and waits for its Q; false when there is none.
  __device__ __forceinline__ bool next_tile() {
    TileFor<Spec> tile;
    if (!find_tile<Spec>(params, ++round, tile)) return false;
    first_row = tile.first_row + warpgroup * kWarpgroupRows;
    seen = blocks_of_warpgroup<Spec>(params, tile, warpgroup);
    unseen = tile.blocks - seen;
    int hidden = 0;  // keys at the beginning, from some row
    if constexpr (Spec::by_table) {
      const TileRuns own = runs_of_warpgroup<Spec>(params, tile, warpgroup);
      seen_by_all = own.min_end / kKeys;
      hidden = own.max_begin;
      if constexpr (Spec::by_rows) load_runs(tile.batch);
      if constexpr (Spec::by_bits) {
        const PairBits& bits = params.bits;
        words = bits.by_row + bits.entry(tile.batch, tile.head) * bits.padded_rows * bits.key_blocks();
      }
    } else if constexpr (Spec::lengths) {
      const int end = run_of_row(tile, first_row < 0 ? 0 : first_row).end;  // of the first row that there is
      seen_by_all = end < 0 ? 0 : end / kKeys;
      hidden = run_of_row(tile, first_row + kWarpgroupRows - 1).begin;
      rule = {tile.run_begin, tile.run_end};
      hidden_keys = tile.hidden;
    } else {
      seen_by_all = visible_keys<Spec>(params, first_row) / kKeys;
      if constexpr (Spec::runs) hidden = params.visible(first_row + kWarpgroupRows - 1).begin;
    }
    if constexpr (Spec::begins_anywhere) {
      first_block = tile.first_block;
      seen_by_all = seen_by_all < first_block ? 0 : seen_by_all - first_block;
    }
    if constexpr (Spec::runs) {
      full_from = (hidden + kKeys - 1) / kKeys - first_block;
      if (full_from < 0) full_from = 0;
    }
    if constexpr (Spec::change == Change::slopes) load_slopes(tile);
    wait_full(smem.q_full[warpgroup], q_ring);
    if constexpr (kTuning.q_in_registers) load_queries();
    return true;
  }

  __device__ __forceinline__ void load_runs(int batch) {
    const int last = params.problem.q_rows - 1;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = first_row + lane_row() + 8 * r;
      runs[r] = load_row(params.table, batch, row < last ? row : last);
    }
  }

  __device__ __forceinline__ void load_slopes(const Tile& tile) {
    const ScoreParams& scores = params.scores;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = first_row + lane_row() + 8 * r;
      const int head = tile.head + (row - (params.unpack(row) << params.pack_shift));
      slope[r] = scores.inverse_scale *
                 gpu::load_global(scores.slopes + tile.batch * scores.slopes_batch_stride + head);
    }
  }

  // ---- Matrix products ----

  // S = Q K^T.
  __device__ __forceinline__ void issue_q_times_k(Scores<Spec>& S) {
    const uint32_t k = gpu::descriptor_low(gpu::shared_address(smem.k[k_ring.stage]), 0);
    const uint32_t q = gpu::descriptor_low(gpu::shared_address(smem.q[warpgroup][q_ring.stage]), 0);
    gpu::pin(S);
    if constexpr (kTuning.q_in_registers) gpu::pin(Q);
    gpu::wgmma_fence();
#pragma unroll
    for (int step = 0; step < Spec::dim_steps; ++step) {
      const uint64_t b =
          gpu::descriptor(k + along_head_dim(step, Spec::kv_slab_bytes) / 16, Spec::descriptor_high);
      if constexpr (kTuning.q_in_registers) {
        gpu::wgmma_rs<T, false>(S, Q[step], b, step > 0);
      } else {
        const uint64_t a =
            gpu::descriptor(q + along_head_dim(step, Spec::q_slab_bytes) / 16, Spec::descriptor_high);
        gpu::wgmma_ss<T, false>(S, a, b, step > 0);
      }
    }
    gpu::wgmma_commit();
  }

  // O += P V.
  __device__ __forceinline__ void issue_p_times_v() {
    const uint32_t v = gpu::descriptor_low(gpu::shared_address(smem.v[v_ring.stage]), Spec::kv_slab_bytes);
    gpu::pin(O);
    gpu::pin(P);
    gpu::wgmma_fence();
#pragma unroll
    for (int step = 0; step < Spec::key_steps; ++step) {
      const uint64_t b = gpu::descriptor(v + 16 * step * Spec::row_bytes / 16, Spec::descriptor_high);
      gpu::wgmma_rs<T, true>(O, P[step], b, !fresh || step > 0);
    }
    gpu::wgmma_commit();
  }

  // Bytes to 16 columns of head_dim, in a tile whose slabs have so many bytes.
  static __device__ __forceinline__ constexpr uint32_t along_head_dim(int step, int slab_bytes) {
    constexpr int kStepsPerSlab = Spec::slab_columns / 16;
    return static_cast<uint32_t>(step / kStepsPerSlab * slab_bytes + step % kStepsPerSlab * 32);
  }

  // ---- Softmax ----

  // Scores as the softmax sees them, but for its scale.
  __device__ __forceinline__ void change(Scores<Spec>& S, int block) {
    if constexpr (Spec::adds_bias) {
      add_bias(S);
    } else if constexpr (Spec::change == Change::softcap) {
#pragma unroll
      for (int i = 0; i < kKeys / 2; ++i) S[i] = gpu::tanh(S[i] * params.scores.inner);
    } else if constexpr (Spec::change == Change::scaled) {
#pragma unroll
      for (int i = 0; i < kKeys / 2; ++i) S[i] *= params.scores.inner;
    } else if constexpr (Spec::change == Change::slopes) {
      const int lane = gpu::opaque(gpu::lane_index());  // else the distances are kept from block to block
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int position =
            params.unpack(first_row + 16 * warp + lane / 4 + 8 * r) + params.scores.first_position;
        const auto distance = static_cast<float>((first_block + block) * kKeys + 2 * (lane % 4) - position);
#pragma unroll
        for (int i = 0; i < kKeys / 2; ++i) {
          if (i / 2 % 2 == r) {
            const auto column = static_cast<float>(8 * (i / 4) + i % 2);
            S[i] = fmaf(-slope[r], fabsf(distance + column), S[i]);
          }
        }
      }
    }
  }

  // The tensor's values come as fragments of the very shape that accumulators have.
  __device__ __forceinline__ void add_bias(Scores<Spec>& S) {
    gpu::mbarrier_wait_in_block(gpu::shared_address(&smem.bias_full[warpgroup]), bias_ring.phase);
    const uint32_t place = gpu::shared_address(smem.bias[warpgroup]);
    const uint32_t rows = matrix_address(place);
    static_assert(Spec::q_slab_bytes == kWarpgroupRows * 128, "at_columns goes by slabs of Q");
#pragma unroll
    for (int step = 0; step < Spec::key_steps; ++step) {
      uint32_t pairs[4];
      gpu::ldmatrix_x4(pairs, at_columns(rows, step));
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const auto bits = static_cast<uint16_t>(i % 2 == 0 ? pairs[i / 2] & 0xFFFF : pairs[i / 2] >> 16);
        S[8 * step + i] = fmaf(S[8 * step + i], params.scores.inner, gpu::widen(T{bits}));
      }
    }
  }
  // Behind something that needs all scores: an arrival right behind the loads may overtake them, and the next
  // tile would come before this one is read.
  __device__ __forceinline__ void release_bias() {
    gpu::sync_warp();
    if (gpu::lane_index() == 0) gpu::mbarrier_arrive(gpu::shared_address(&smem.bias_free[warpgroup]));
    bias_ring.advance();
  }

  __device__ __forceinline__ bool needs_mask(int block) const {
    if constexpr (Spec::runs) return block >= seen_by_all || block < full_from;
    return block >= seen_by_all;
  }

  // What mask() needs of a block from memory, while its products are computed.
  __device__ __forceinline__ void load_mask(int block) {
    if constexpr (Spec::by_bits) {
      const int lane = gpu::opaque(gpu::lane_index());  // else addresses are kept from block to block
      const int of_words = (first_block + block) * kKeys / kBitColumns;
      const int last = params.problem.q_rows - 1;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = first_row + 16 * warp + lane / 4 + 8 * r;
        const PairWords* at = words + int64_t{row < last ? row : last} * params.bits.key_blocks() + of_words;
        kept[r] = gpu::load_global(&at->of_lane[lane % 4]);
      }
    }
  }

  // Scores of keys that a row does not see become -inf.
  __device__ __forceinline__ void mask(Scores<Spec>& S, int block) const {
    if constexpr (Spec::by_bits) {
      const int half =
          (first_block + block) * kKeys % kBitColumns / 4;  // of a word, where blocks have 64 keys
#pragma unroll
      for (int r = 0; r < 2; ++r) keep_elements(S, r, kept[r] >> half);
    } else if constexpr (Spec::runs) {
      keep_runs(S, block);
    } else {
      cut_off(S, block);
    }
  }

  // Rows see every key up to one.
  __device__ __forceinline__ void cut_off(Scores<Spec>& S, int block) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = first_row + lane_row() + 8 * r;
      const int visible =
          visible_keys<Spec>(params, row) - (first_block + block) * kKeys - 2 * (gpu::lane_index() % 4);
#pragma unroll
      for (int i = 0; i < kKeys / 2; ++i) {
        if (i / 2 % 2 == r && 8 * (i / 4) + i % 2 >= visible) S[i] = -INFINITY;
      }
    }
  }

  __device__ __forceinline__ Run seen_by(int row) const {
    if constexpr (Spec::lengths)
      return {row + rule.begin < hidden_keys ? hidden_keys : row + rule.begin, row + rule.end};
    return params.visible(row);
  }

  // Rows see runs that may begin anywhere: one word per row says what stays.
  __device__ __forceinline__ void keep_runs(Scores<Spec>& S, int block) const {
    const int lane = gpu::opaque(gpu::lane_index());  // else the runs are kept from block to block
    const int first_key = (first_block + block) * kKeys + 2 * (lane % 4);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const Run run = Spec::by_rows ? runs[r] : seen_by(first_row + 16 * warp + lane / 4 + 8 * r);
      keep_elements(S, r, elements_between(run.begin - first_key, run.end - first_key));
    }
  }

  // Of row r of the lane's two.
  static __device__ __forceinline__ void keep_elements(Scores<Spec>& S, int r, uint32_t elements) {
#pragma unroll
    for (int i = 0; i < kKeys / 2; ++i) {
      if (i / 2 % 2 == r && (elements >> (2 * (i / 4) + i % 2) & 1) == 0) S[i] = -INFINITY;
    }
  }

  // The largest score of each of the lane's rows.
  static __device__ __forceinline__ void row_max(const Scores<Spec>& S, float (&largest)[2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float even = fmaxf(S[2 * r], S[2 * r + 1]);
      float odd = fmaxf(S[2 * r + 4], S[2 * r + 5]);
#pragma unroll
      for (int i = 8 + 2 * r; i < kKeys / 2; i += 8) {
        even = fmaxf(even, fmaxf(S[i], S[i + 1]));
        odd = fmaxf(odd, fmaxf(S[i + 4], S[i + 5]));
      }
      float x = fmaxf(even, odd);
      x = fmaxf(x, gpu::shuffle_xor(x, 1));
      largest[r] = fmaxf(x, gpu::shuffle_xor(x, 2));
    }
  }

  __device__ __forceinline__ void begin_maximum(const Scores<Spec>& S) {
    float largest[2];
    row_max(S, largest);
#pragma unroll
    for (int r = 0; r < 2; ++r) m[r] = largest[r] * params.problem.scale_log2e;
  }

  // Brings m and l up to date, and says by what O has to follow. Leaves S ready for exponentials.
  __device__ __forceinline__ void update_maximum(Scores<Spec>& S) {
    float largest[2];
    row_max(S, largest);
    const float scale = params.problem.scale_log2e;
    const float growth = fmaxf(largest[0] * scale - m[0], largest[1] * scale - m[1]);
    grown = gpu::any_lane(growth > kLazyGrowth || has_large_maximum());
    if constexpr (Spec::adds_bias) release_bias();
    if (!grown) return;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float m_new = fmaxf(m[r], largest[r] * scale);
      alpha[r] = gpu::ex2(m[r] - (m_new == -INFINITY ? 0.0F : m_new));
      l[r] *= alpha[r];
      m[r] = m_new;
    }
    subtract_large_maxima(S);
  }

  __device__ __forceinline__ bool has_large_maximum() const {
    return is_large(fmaxf(fabsf(m[0]), fabsf(m[1])));
  }

  __device__ __forceinline__ void subtract_large_maxima(Scores<Spec>& S) const {
    if (gpu::any_lane(has_large_maximum())) [[unlikely]] {  // so that it lies outside of the loop's code
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const SubtractFirst subtract_first(params.problem.scale_log2e, m[r]);
#pragma unroll
        for (int i = 0; i < kKeys / 2; ++i) {
          if (i / 2 % 2 == r) S[i] = subtract_first(S[i]);
        }
      }
    }
  }

  // For the first block that is walked, which is the last one that the warpgroup sees.
  __device__ __forceinline__ void begin_softmax(Scores<Spec>& S, int block) {
    change(S, block);
    if (needs_mask(block)) {
      load_mask(block);
      mask(S, block);
    }
    begin_maximum(S);
    subtract_large_maxima(S);
    if constexpr (Spec::adds_bias) release_bias();
    exponentials<true>(S);
  }

  // S becomes exp2(scale S - m), and l its sum.
  template <bool kFirst>
  __device__ __forceinline__ void exponentials(Scores<Spec>& S) {
    const float scale = params.problem.scale_log2e;
    const float base[2] = {fused_base(m[0]), fused_base(m[1])};
    float even[2] = {0, 0};
    float odd[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < kKeys / 2; ++i) {
      const int r = i / 2 % 2;
      S[i] = gpu::ex2(fmaf(S[i], scale, -base[r]));
      (i % 2 == 0 ? even : odd)[r] += S[i];
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) l[r] = kFirst ? even[r] + odd[r] : l[r] + (even[r] + odd[r]);
  }

  __device__ __forceinline__ void rescale() {
    if (!grown) return;
#pragma unroll
    for (int i = 0; i < Spec::head_dim / 2; ++i) O[i] *= alpha[i / 2 % 2];
  }

  // The accumulators of S are, packed in pairs, the register operand of P V.
  __device__ __forceinline__ void pack_p(const Scores<Spec>& S) {
#pragma unroll
    for (int i = 0; i < kKeys / 4; ++i) P[i / 4][i % 4] = gpu::pack<T>(S[2 * i], S[2 * i + 1]);
  }

  // ---- Waiting for one another ----

  __device__ __forceinline__ void load_queries() {
    const uint32_t rows = matrix_address(gpu::shared_address(smem.q[warpgroup][q_ring.stage]));
#pragma unroll
    for (int step = 0; step < Spec::dim_steps; ++step) gpu::ldmatrix_x4(Q[step], at_columns(rows, step));
  }
  // Behind the first product, which needs all of Q: an arrival right behind the loads may overtake them.
  __device__ __forceinline__ void release_loaded_queries() {
    if constexpr (kTuning.q_in_registers) {
      gpu::sync_warp();
      if (gpu::lane_index() == 0)
        gpu::mbarrier_arrive(gpu::shared_address(&smem.q_free[warpgroup][q_ring.stage]));
      q_ring.advance();
    }
  }

  __device__ __forceinline__ void wait_for_keys() { wait_full(smem.k_full, k_ring); }
  __device__ __forceinline__ void wait_for_values() { wait_full(smem.v_full, v_ring); }
  __device__ __forceinline__ void release_keys() { release(smem.k_free, k_ring); }
  __device__ __forceinline__ void release_values() { release(smem.v_free, v_ring); }
  __device__ __forceinline__ void skip_keys(int blocks) { skip(smem.k_full, smem.k_free, k_ring, blocks); }
  __device__ __forceinline__ void skip_values(int blocks) { skip(smem.v_full, smem.v_free, v_ring, blocks); }
  // Q in registers has been released behind the tile's first product.
  __device__ __forceinline__ void release_queries() {
    if constexpr (!kTuning.q_in_registers) release(smem.q_free[warpgroup], q_ring);
  }

  // Only before the wgmma that reads the place: once one warp has released it, the barrier may move on under
  // the others.
  template <int kStages>
  static __device__ __forceinline__ void wait_full(uint64_t (&full)[kStages], const Ring<kStages>& ring) {
    gpu::mbarrier_wait_in_block(gpu::shared_address(&full[ring.stage]), ring.phase);
  }

  template <int kStages>
  __device__ __forceinline__ void release(uint64_t (&free)[kStages], Ring<kStages>& ring) {
    if (thread == 0) gpu::mbarrier_arrive(gpu::shared_address(&free[ring.stage]));
    ring.advance();
  }

  // Stages that the warpgroup does not read. Who releases a stage has to wait for it, or it might release it
  // for the round before; the others must not, since the barrier may move on under them. A whole warp waits,
  // and all of it before one lane releases: a loop under a branch of one lane would cost the kernel its
  // uniform registers.
  template <int kStages>
  __device__ __forceinline__ void skip(uint64_t (&full)[kStages], uint64_t (&free)[kStages],
                                       Ring<kStages>& ring, int blocks) {
#pragma unroll 1
    for (int i = 0; i < blocks; ++i) {
      if (warp == 0) {
        wait_full(full, ring);
        gpu::sync_warp();
      }
      release(free, ring);
    }
  }

  // Ping-pong: the warpgroups have the tensor cores in turn. One issues its products, then the next one does.
  __device__ __forceinline__ void wait_for_turn() {
    gpu::named_barrier_sync(number(Barrier::turn, warpgroup), 2 * kWarpgroup);
  }
  __device__ __forceinline__ void pass_turn() {
    gpu::named_barrier_arrive(number(Barrier::turn, warpgroup + 1 == kMath ? 0 : warpgroup + 1),
                              2 * kWarpgroup);
  }
};

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET
