// SPDX-License-Identifier: MIT
// The loading thread: for each tile Q, and K and V from the last block of keys to the first, V one block
// behind K; and before V what is added to its keys' scores.
#pragma once

#include "kernels/hopper_forward/tiles.cuh"
#include "primitives/mbarrier.h"
#include "primitives/registers.h"
#include "primitives/shared.h"
#include "primitives/tma.h"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

// Where a block of keys begins, in its sequence or batch entry; and which entry of the map that is.
template <class Spec>
__device__ __forceinline__ int first_key_of(const TileFor<Spec>& note, int block) {
  if constexpr (Spec::lengths) return (note.first_block + block) * Spec::tile_kv - note.hidden;
  return (Spec::begins_anywhere ? note.first_block + block : block) * Spec::tile_kv;
}
template <class Spec>
__device__ __forceinline__ int key_entry(const TileFor<Spec>& note) {
  if constexpr (Spec::lengths) return note.k_place;
  return note.batch;
}

// One stage of K or V, as soon as it is free.
template <class Spec, class Stages>
__device__ __forceinline__ void load_keys(unsigned char (&stages)[Spec::tuning.stages][Spec::kv_bytes],
                                          uint64_t (&full)[Spec::tuning.stages],
                                          uint64_t (&free)[Spec::tuning.stages], Stages& ring,
                                          const gpu::TensorMap& map, int block, const TileFor<Spec>& note) {
  gpu::mbarrier_wait_in_block(gpu::shared_address(&free[ring.stage]), ring.phase ^ 1);
  const uint32_t barrier = gpu::shared_address(&full[ring.stage]);
  const uint32_t to = gpu::shared_address(stages[ring.stage]);
  const int first_key = first_key_of<Spec>(note, block);
  gpu::mbarrier_arrive_expect_tx(barrier, Spec::kv_bytes);
#pragma unroll
  for (int slab = 0; slab < Spec::slabs; ++slab) {
    gpu::tma_load_4d(to + slab * Spec::kv_slab_bytes, map, barrier, slab * Spec::slab_columns, first_key,
                     note.kv_head, key_entry<Spec>(note));
  }
  ring.advance();
}

// The rows of every math warpgroup, each on a barrier of its own.
template <class Spec, class Slots>
__device__ __forceinline__ void load_queries(const Params& params, Smem<Spec>& smem, Slots& ring,
                                             const Tile& note) {
#pragma unroll
  for (int w = 0; w < Spec::math_warpgroups; ++w) {
    gpu::mbarrier_wait_in_block(gpu::shared_address(&smem.q_free[w][ring.stage]), ring.phase ^ 1);
    const uint32_t barrier = gpu::shared_address(&smem.q_full[w][ring.stage]);
    const uint32_t to = gpu::shared_address(smem.q[w][ring.stage]);
    gpu::mbarrier_arrive_expect_tx(barrier, Spec::q_bytes);
#pragma unroll
    for (int slab = 0; slab < Spec::slabs; ++slab) {
      gpu::tma_load_5d(to + slab * Spec::q_slab_bytes, params.q, barrier, slab * Spec::slab_columns, 0,
                       params.unpack(note.first_row + w * kWarpgroupRows), params.unpack(note.head),
                       note.batch);
    }
  }
  ring.advance();
}

// The tensor's values for each math warpgroup that sees a block of keys, as soon as it has read those before.
template <class Spec>
__device__ __forceinline__ void load_bias(const Params& params, Smem<Spec>& smem,
                                          Ring<1> (&rings)[Spec::math_warpgroups], int block,
                                          const Tile& note) {
  const PairBits& bits = params.bits;
#pragma unroll
  for (int w = 0; w < Spec::math_warpgroups; ++w) {
    if (block >= smem.bias_blocks[w]) continue;
    gpu::mbarrier_wait_in_block(gpu::shared_address(&smem.bias_free[w]), rings[w].phase ^ 1);
    const uint32_t barrier = gpu::shared_address(&smem.bias_full[w]);
    const uint32_t to = gpu::shared_address(smem.bias[w]);
    gpu::mbarrier_arrive_expect_tx(barrier, Spec::bias_bytes);
#pragma unroll
    for (int slab = 0; slab < Spec::tile_kv / 64; ++slab) {
      gpu::tma_load_4d(to + slab * kWarpgroupRows * 128, params.bias, barrier,
                       (note.first_block + block) * Spec::tile_kv + slab * 64,
                       note.first_row + w * kWarpgroupRows, note.head * bits.head_entries,
                       bits.batch_entries == 0 ? 0 : note.batch);
    }
    rings[w].advance();
  }
}

template <class Spec>
__device__ __forceinline__ void load_tiles(const Params& params, Smem<Spec>& smem) {
  gpu::tma_prefetch_map(params.q);
  gpu::tma_prefetch_map(params.k);
  gpu::tma_prefetch_map(params.v);
  Ring<Spec::tuning.stages> k_ring, v_ring;
  Ring<Spec::tuning.q_slots> q_ring;
  Ring<1> bias_rings[Spec::math_warpgroups];
  // This thread has few registers: what it wrote down is read again where it is needed.
  const auto tile = [&]() -> const TileFor<Spec>& { return *gpu::opaque(&smem.loaded); };
  const auto load_k = [&](int block) {
    load_keys<Spec>(smem.k, smem.k_full, smem.k_free, k_ring, params.k, block, tile());
  };
  const auto load_v = [&](int block) {
    if constexpr (Spec::adds_bias) load_bias<Spec>(params, smem, bias_rings, block, tile());
    load_keys<Spec>(smem.v, smem.v_full, smem.v_free, v_ring, params.v, block, tile());
  };
#pragma unroll 1
  for (unsigned round = 0; find_tile<Spec>(params, round, smem.loaded); ++round) {
    const int blocks = tile().blocks;
    if constexpr (Spec::adds_bias) {
#pragma unroll 1
      for (int w = 0; w < Spec::math_warpgroups; ++w)
        smem.bias_blocks[w] = blocks_of_warpgroup<Spec>(params, tile(), w);
    }
    // The first tile needs Q as soon as K. Later ones find their slot of Q in use for longer than their stage
    // of K.
    if (round == 0) load_queries<Spec>(params, smem, q_ring, tile());
    load_k(blocks - 1);
    if (round != 0) load_queries<Spec>(params, smem, q_ring, tile());
#pragma unroll 1
    for (int block = blocks - 2; block >= 0; --block) {
      load_k(block);
      load_v(block + 1);
    }
    load_v(0);
  }
}

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET
