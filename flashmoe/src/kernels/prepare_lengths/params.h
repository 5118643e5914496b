// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/forward_params.h"
#include "kernels/sequence_tiles.h"

namespace flashmoe::kernels::prepare_lengths {

inline constexpr int kThreads = 256;

// q's half of the lengths, or k's: as flashmoe::Lengths has them.
struct Side {
  const int32_t* starts;
  const int32_t* used;
  int batch, rows;  // of the tensors
};

// A list to be written.
struct List {
  SequenceTile* tiles;
  int capacity;
  int tile_rows;    // of a tile
  bool of_keys;     // tiles of keys, else of query rows
  bool from_end;    // the last tile is whole, and the first begins before the sequence where it is not
  bool last_first;  // of keys: a sequence's last tile stands before its others
  int most_work;    // keys that a tile of query rows sees, or rows that see a tile of keys, at most
};

// Tensors whose rows are 0 where no sequence computes them.
struct Cleared {
  View tensors[2];
  int num_tensors;  // 0: nothing is to be cleared
  int heads;
  float* lse = nullptr;  // of q's side: -inf there, or the sink of a row that counts and sees no key; or null
  const float* sinks = nullptr;  // or null
};

struct Params {
  Side q, k;
  int sequences;
  SequenceRule rule;
  List lists[2];
  int num_lists;
  Cleared of_q, of_k;
  int head_dim;
  int element_bytes;
};

}  // namespace flashmoe::kernels::prepare_lengths
