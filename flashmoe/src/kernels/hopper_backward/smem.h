// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/hopper_backward/spec.h"
#include "kernels/hopper_backward/work.h"
#include "kernels/pair_bits.h"

namespace flashmoe::kernels::hopper_backward {

// What forms that add a tensor have beside the rest: a tile of it for each math warpgroup.
template <class Spec, bool = Spec::adds_bias>
struct BiasTiles {};
template <class Spec>
struct BiasTiles<Spec, true> {
  alignas(1024) unsigned char bias[kMathWarpgroups][Spec::bias_bytes];
};

// A full barrier counts the bytes that the loader announced; a free barrier the warps that are done with the
// place: they read the rows' statistics by ordinary loads.
template <class Spec>
struct Smem : BiasTiles<Spec> {
  static constexpr int kStages = Spec::stages;
  // What neither TMA nor wgmma reads: with a tensor's tiles every kilobyte counts.
  static constexpr int kAlignment = Spec::adds_bias ? 16 : 1024;

  alignas(1024) unsigned char k[Spec::kv_bytes];  // dK leaves through it, or dq; dV through v
  alignas(1024) unsigned char v[Spec::kv_bytes];
  alignas(1024) unsigned char q[kStages][Spec::q_bytes];
  alignas(1024) unsigned char dout[kStages][Spec::q_bytes];
  alignas(1024) unsigned char ds[2][Spec::ds_bytes];  // [key][query]
  // Where warpgroups share keys, P has to reach the other one too, and dQ goes straight to the sums. Else
  // Change::softcap keeps P (1 - t^2) here, each lane its own, from when S gives way to when dP is there.
  alignas(kAlignment) unsigned char p[2][Spec::p_bytes];
  alignas(
      kAlignment) float dq[kMathWarpgroups][Spec::shares_keys ? 4 : 4096];  // a piece on its way to the sums
  alignas(16) float lse_log2[kStages][Spec::tile_q];
  alignas(16) float delta[kStages][Spec::tile_q];
  uint64_t k_full, v_full;
  uint64_t q_full[kStages], q_free[kStages];        // with lse_log2
  uint64_t dout_full[kStages], dout_free[kStages];  // with delta
  uint64_t ds_full[2];                              // both warpgroups' keys
  uint64_t first_is_ahead;                          // the first warpgroup is half a step into its first tile
  int tile;                                         // where blocks take their numbers from a counter
  int masked[kStages];   // Spec::notes_masks: whether some row of the step's tile does not see some key
  float slope[kStages];  // Change::slopes: of the step's head, over the scale
  int causal_shift, more_rows;      // Visible::lengths: of the sequence, as Work has them
  const PairWords* words[kStages];  // Visible::bits: of the block's first key, for the step's queries
  uint64_t bias_full[kMathWarpgroups], bias_free[kMathWarpgroups];  // Change::bias
  // Spec::persistent: what is known of the block's tile, and of the next, once k_full is; of four in turn, so
  // that a place is written when nobody has read it since the tile before the last.
  uint64_t keys_free;  // K and V
  Work work[4];
};

}  // namespace flashmoe::kernels::hopper_backward
