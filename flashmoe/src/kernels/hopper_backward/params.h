// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/backward_params.h"
#include "kernels/padded_sequences.h"
#include "kernels/pair_bits.h"
#include "kernels/score_params.h"
#include "kernels/sequence_tiles.h"
#include "primitives/tensor_map.h"

namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET {

struct Params {
  gpu::TensorMap q, dout;  // [B, Hq, Sq, D]: a copy moves one slab of a tile of queries
  gpu::TensorMap k, v, dk,
      dv;  // [B, Hkv, Skv, D]: a copy moves one slab of a tile of keys, or of a warpgroup's
  BackwardParams problem;
  ScoreParams scores;  // for forms that change them
  // Visible::lengths: tiles of keys, counted from a sequence's end, which problem.order numbers; and where
  // query rows lie in workspace. Packed tensors have as many entries as rows, each of which begins with the
  // row of its number.
  SequenceTiles sequences;
  PaddedSequences padded;
  PairBits bits;        // Visible::bits, and tiles
  gpu::TensorMap bias;  // Change::bias: [B or 1, Hq or 1, Sq, Skv]; a copy moves 64 rows and 64 keys
};

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET
