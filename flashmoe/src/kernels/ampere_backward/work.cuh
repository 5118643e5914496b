// SPDX-License-Identifier: MIT
// Which keys a block has, and which query tiles it walks over.
#pragma once

#include <cstdint>

#include "kernels/ampere_backward/spec.h"
#include "kernels/backward_params.h"
#include "primitives/index.h"

namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET {

// A step of the walk.
struct Step {
  int head;    // query head, of the batch entry
  int q_tile;  // of the head
};

// A tile of keys. The query tiles that see some of them are the same in each head of the group, and walked
// from the first to the last, head by head. What follows from the three numbers is worked out anew each time:
// registers are scarce.
template <class Spec>
struct Work {
  int batch, kv_head;
  int first_key;

  __device__ __forceinline__ Work(const BackwardParams& p, uint32_t number) {
    const TileOrder::Tile tile = p.order.tile(number);
    batch = tile.batch;
    kv_head = tile.head;
    first_key = tile.q_tile * Spec::tile_kv;
  }

  __device__ __forceinline__ int q_entry() const { return batch; }
  __device__ __forceinline__ int k_entry() const { return batch; }
  static __device__ __forceinline__ int q_rows(const BackwardParams& p) { return p.q_rows; }
  static __device__ __forceinline__ int kv_rows(const BackwardParams& p) { return p.kv_rows; }

  // Query tiles of a head that see some of the keys.
  __device__ __forceinline__ int begin(const BackwardParams& p) const {
    const int first_row = first_key - p.causal_shift;  // that sees a key of the tile
    return first_row <= 0 ? 0 : first_row / Spec::tile_q;
  }
  __device__ __forceinline__ int end(const BackwardParams& p) const {
    int rows = p.q_rows;
    if constexpr (Spec::runs) {
      const int last_row = first_key + Spec::tile_kv - 1 - p.runs.begin;  // that sees a key of the tile
      rows = last_row < 0 ? 0 : last_row < rows ? last_row + 1 : rows;
    }
    return (rows + Spec::tile_q - 1) / Spec::tile_q;
  }

  // Whether some row of the tile does not see some key, or there is no such key.
  __device__ __forceinline__ bool is_masked(const BackwardParams& p, int q_tile) const {
    if constexpr (Spec::runs) {
      if ((q_tile + 1) * Spec::tile_q - 1 + p.runs.begin > first_key) return true;
    }
    const int full_row = first_key + Spec::tile_kv - 1 - p.causal_shift;  // that sees all of them
    return q_tile * Spec::tile_q < full_row || first_key + Spec::tile_kv > p.kv_rows;
  }

  __device__ __forceinline__ Step first(const BackwardParams& p) const {
    return {kv_head * p.group, begin(p)};
  }
  __device__ __forceinline__ Step next(const BackwardParams& p, const Step& step) const {
    return step.q_tile + 1 < end(p) ? Step{step.head, step.q_tile + 1} : Step{step.head + 1, begin(p)};
  }
  __device__ __forceinline__ bool is_there(const BackwardParams& p, const Step& step) const {
    return step.head < (kv_head + 1) * p.group;
  }

  // The first row of a step's tile, counted over all heads as the workspace has them.
  __device__ __forceinline__ int64_t padded_row(const BackwardParams& p, const Step& step) const {
    return (int64_t{batch} * p.q_heads + step.head) * p.padded_rows + step.q_tile * Spec::tile_q;
  }

  // How many blocks add to a tile of queries before this one: those with later keys. Later keys have lower
  // numbers (TileOrder::last_first), and a causal block meets its query tiles in the order in which the next
  // block leaves them.
  __device__ __forceinline__ int turn(const BackwardParams& p, int q_tile) const {
    const int last_row = (q_tile + 1) * Spec::tile_q - 1;
    const int last_key = last_row + p.causal_shift;
    const int last_tile = (last_key < p.kv_rows ? last_key : p.kv_rows - 1) / Spec::tile_kv;
    return last_tile - first_key / Spec::tile_kv;
  }
};

}  // namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET
