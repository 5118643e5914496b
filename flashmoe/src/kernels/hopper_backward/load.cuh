// SPDX-License-Identifier: MIT
// The loading thread: the block's K and V once, then Q and dO of each step, with their rows' statistics, and
// what is added to scores.
#pragma once

#include "kernels/hopper_backward/tiles.cuh"
#include "primitives/bulk.h"
#include "primitives/mbarrier.h"
#include "primitives/memory.h"
#include "primitives/shared.h"
#include "primitives/tma.h"

namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET {

template <class Spec>
__device__ __forceinline__ void load_keys(unsigned char (&place)[Spec::kv_bytes], uint64_t& full,
                                          const gpu::TensorMap& map, const Work& work) {
  const uint32_t barrier = gpu::shared_address(&full);
  const uint32_t to = gpu::shared_address(place);
  gpu::mbarrier_arrive_expect_tx(barrier, Spec::kv_bytes);
#pragma unroll
  for (int slab = 0; slab < Spec::slabs; ++slab) {
    gpu::tma_load_4d(to + slab * Spec::kv_slab_bytes, map, barrier, slab * Spec::slab_columns, work.first_key,
                     work.kv_head, Spec::lengths ? work.k_place : work.batch);
  }
}

// A tile of Q or dO, and one number per row.
template <class Spec>
__device__ __forceinline__ void load_rows(unsigned char (&place)[Spec::q_bytes],
                                          float (&statistics)[Spec::tile_q], uint64_t& full,
                                          const gpu::TensorMap& map, const float* numbers,
                                          const Step<Spec>& step, const Work& work) {
  const uint32_t barrier = gpu::shared_address(&full);
  const uint32_t to = gpu::shared_address(place);
  constexpr uint32_t kNumbersBytes = Spec::tile_q * sizeof(float);
  gpu::mbarrier_arrive_expect_tx(barrier, Spec::q_bytes + kNumbersBytes);
#pragma unroll
  for (int slab = 0; slab < Spec::slabs; ++slab) {
    gpu::tma_load_4d(to + slab * Spec::q_slab_bytes, map, barrier, slab * Spec::slab_columns,
                     step.q_tile * Spec::tile_q - (Spec::lengths ? work.rows_before : 0), step.head,
                     work.batch);
  }
  gpu::bulk_load(gpu::shared_address(statistics), numbers, kNumbersBytes, barrier);
}

template <class Spec>
__device__ __forceinline__ float slope_of(const ScoreParams& scores, const Work& work,
                                          const Step<Spec>& step) {
  return scores.inverse_scale *
         gpu::load_global(scores.slopes + work.batch * scores.slopes_batch_stride + step.head);
}

// The block's first key has them, and its other keys row_blocks() further each.
template <class Spec>
__device__ __forceinline__ const PairWords* words_of(const Params& params, const Work& work,
                                                     const Step<Spec>& step) {
  const PairBits& bits = params.bits;
  const int64_t key = bits.entry(work.batch, step.head) * bits.padded_keys + work.first_key;
  return bits.by_key + key * bits.row_blocks() + step.q_tile * Spec::tile_q / kBitColumns;
}

// What is added to the scores of each math warpgroup's keys, as soon as it has read that of the step before.
template <class Spec>
__device__ __forceinline__ void load_bias(const Params& params, Smem<Spec>& smem, const Work& work,
                                          const Step<Spec>& step, uint32_t parity) {
  const PairBits& bits = params.bits;
#pragma unroll
  for (int w = 0; w < kMathWarpgroups; ++w) {
    gpu::mbarrier_wait_in_block(gpu::shared_address(&smem.bias_free[w]), parity ^ 1);
    const uint32_t barrier = gpu::shared_address(&smem.bias_full[w]);
    gpu::mbarrier_arrive_expect_tx(barrier, Spec::bias_bytes);
#pragma unroll
    for (int row = 0; row < Spec::tile_q; row += 64) {
      gpu::tma_load_4d(gpu::shared_address(smem.bias[w]) + row * Spec::row_bytes, params.bias, barrier,
                       work.first_key + w * kWarpgroupKeys, step.q_tile * Spec::tile_q + row,
                       step.head * bits.head_entries, bits.batch_entries == 0 ? 0 : work.batch);
    }
  }
}

// A step's Q, with what is noted for it, and its dO, as soon as their places are free.
template <class Spec>
__device__ __forceinline__ void load_queries(const Params& params, Smem<Spec>& smem, const Work& work,
                                             const Step<Spec>& step, Ring<Spec::stages> ring, int64_t row) {
  const int stage = ring.stage;
  gpu::mbarrier_wait_in_block(gpu::shared_address(&smem.q_free[stage]), ring.phase ^ 1);
  if constexpr (Spec::notes_masks) smem.masked[stage] = needs_mask<Spec>(params, work, step.q_tile) ? 1 : 0;
  if constexpr (Spec::by_bits) smem.words[stage] = words_of<Spec>(params, work, step);
  if constexpr (Spec::change == Change::slopes) smem.slope[stage] = slope_of(params.scores, work, step);
  load_rows<Spec>(smem.q[stage], smem.lse_log2[stage], smem.q_full[stage], params.q,
                  params.problem.lse_log2 + row, step, work);
}
template <class Spec>
__device__ __forceinline__ void load_dout(const Params& params, Smem<Spec>& smem, const Work& work,
                                          const Step<Spec>& step, Ring<Spec::stages> ring, int64_t row) {
  const int stage = ring.stage;
  gpu::mbarrier_wait_in_block(gpu::shared_address(&smem.dout_free[stage]), ring.phase ^ 1);
  load_rows<Spec>(smem.dout[stage], smem.delta[stage], smem.dout_full[stage], params.dout,
                  params.problem.delta + row, step, work);
}

template <class Spec>
__device__ __forceinline__ void load_tiles(const Params& params, Smem<Spec>& smem, const Work& work) {
  Ring<Spec::stages> ring;
  Step<Spec> step(params, work);
#pragma unroll 1
  for (int i = 0; i < work.steps; ++i) {
    const int64_t row = step.padded_row(params, work);
    load_queries<Spec>(params, smem, work, step, ring, row);
    if (i == 0) {
      load_keys<Spec>(smem.k, smem.k_full, params.k, work);
      load_keys<Spec>(smem.v, smem.v_full, params.v, work);
    }
    load_dout<Spec>(params, smem, work, step, ring, row);
    if constexpr (Spec::adds_bias)
      load_bias<Spec>(params, smem, work, step, static_cast<uint32_t>(ring.stage));  // of two, in turn
    ring.advance();
    step.advance(params, work);
  }
}

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET
