// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/forward_params.h"
#include "kernels/pair_bits.h"
#include "kernels/row_table.h"
#include "kernels/runs.h"
#include "kernels/score_params.h"
#include "kernels/sequence_tiles.h"
#include "primitives/tensor_map.h"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

struct Params {
  // With lengths, packed tensors have as many entries as rows, each of which begins with the row of its
  // number.
  gpu::TensorMap q, out;  // [B, Hq / pack, Sq, pack, D]: a copy moves 64 packed rows of one slab
  gpu::TensorMap k, v;    // [B, Hkv, Skv, D]: a copy moves one slab of a stage
  ForwardParams problem;
  unsigned tiles;   // of query rows, in problem.order; where keys are shared out, times splits
  unsigned blocks;  // that share them
  int pack_shift;   // log2 of problem.pack
  Runs runs;        // what rows see, for Visible::runs
  RowTable table;   // the same for Visible::rows; rows are not packed there

  // Packed rows and heads to positions in the sequence and packed heads.
  FLASHMOE_HD int unpack(int x) const { return x >> pack_shift; }

  FLASHMOE_HD Run visible(int packed_row) const {
    return runs.visible(unpack(packed_row), problem.q_rows, problem.kv_rows);
  }

  ScoreParams scores;       // for forms that change them
  SequenceTiles sequences;  // for Visible::lengths; rows are not packed there, and problem.order numbers them
  PairBits bits;            // for Visible::bits, and tiles; rows are not packed there
  gpu::TensorMap bias;      // for Change::bias: [B or 1, Hq or 1, Sq, Skv]; a copy moves 64 rows and 64 keys
};

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET
