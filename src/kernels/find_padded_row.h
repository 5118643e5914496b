// SPDX-License-Identifier: MIT
// From a row of padded_sequences.h to the sequence that has it. Apart from that, since who plans has no CUDA
// headers.
#pragma once

#include "kernels/padded_sequences.h"
#include "primitives/memory.h"

namespace flashmoe::kernels::inline FLASHMOE_TARGET {

struct PaddedRow {
  int place;      // of the sequence: its first row where q is packed, else its entry
  int row, rows;  // in the sequence, and how many that has: there is no row below 0 or from `rows` on
};

// Starts and lengths are the caller's, and nobody has looked at them: what is found lies inside of q.
__device__ inline PaddedRow find_padded_row(const PaddedSequences& s, int padded_row) {
  const auto load_start = [&](int sequence, int least) {
    const int start = gpu::load_global(s.starts + sequence);
    return start < least ? least : start < s.rows ? start : s.rows;
  };
  int sequence = 0, first = 0, rows = s.rows;
  if (s.starts == nullptr) {
    sequence = padded_row / PaddedSequences::padded(s.rows);
  } else {
    int low = 0, high = s.sequences;  // of the sequences, those that do not begin behind the row
    while (low < high) {
      const int middle = (low + high) / 2;
      if (s.begin(middle, load_start(middle, 0)) <= padded_row) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    sequence = low - 1;
    if (sequence < 0) return {0, -1, 0};
    first = load_start(sequence, 0);
    rows = load_start(sequence + 1, first) - first;
  }
  if (s.used != nullptr) {
    const int used = gpu::load_global(s.used + sequence);
    rows = used < 0 ? 0 : used < rows ? used : rows;
  }
  const int tiles = (rows + s.tile_rows - 1) / s.tile_rows;
  const int before = tiles * s.tile_rows - rows;
  return {s.starts != nullptr ? first : sequence, padded_row - s.begin(sequence, first) - before, rows};
}

}  // namespace flashmoe::kernels::inline FLASHMOE_TARGET
