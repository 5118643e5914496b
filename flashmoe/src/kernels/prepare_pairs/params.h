// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/pair_bits.h"
#include "kernels/pair_params.h"
#include "kernels/runs.h"

namespace flashmoe::kernels::prepare_pairs {

inline constexpr int kThreads = 512;
inline constexpr int kWarps = kThreads / 32;
inline constexpr int kLook = 16;  // rows of the tensor that a lane has asked for at once

struct Params {
  PairParams pairs;  // bool, or of 16 bits
  uint32_t hidden;   // the value that hides a pair: false, or -inf
  bool by_words;     // keys are neighbours, and may be read four at a time
  Runs by_mask;      // what rows see by mask and window
  int entries;       // of the bits
  int heads;         // of them in a batch entry

  // To be written; as PairBits. `by_row` null: what tiles have is enough; `by_key` null: for a forward.
  PairWords* by_row;
  TileRuns* tiles;
  PairWords* by_key;
  TileRows* key_tiles;
  int padded_rows, padded_keys;
};

}  // namespace flashmoe::kernels::prepare_pairs
