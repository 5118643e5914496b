// SPDX-License-Identifier: MIT
// From a row of padded_sequences.h to the sequence that has it. Apart from that, since who plans has no CUDA
// headers.
#pragma once

#include <bit>

#include "kernels/padded_sequences.h"
#include "primitives/index.h"
#include "primitives/memory.h"
#include "primitives/vote.h"

namespace flashmoe::kernels::inline FLASHMOE_TARGET {

struct PaddedRow {
  int place;      // of the sequence: its first row where q is packed, else its entry
  int row, rows;  // in the sequence, and how many that has: there is no row below 0 or from `rows` on
};

// Where a sequence begins in q; the caller's starts are nobody's to trust: within q, and not before `least`.
__device__ inline int load_start(const PaddedSequences& s, int sequence, int least) {
  const int start = gpu::load_global(s.starts + sequence);
  return start < least ? least : start < s.rows ? start : s.rows;
}

// How many sequences do not begin behind a padded row. Each lane looks at one place of what is left, so that
// up to 1,024 of them are two loads one after the other.
__device__ inline int count_begun(const PaddedSequences& s, int padded_row) {
  const int lane = gpu::lane_index();
  int low = 0, high = s.sequences;
  while (low < high) {
    const int step = (high - low + 31) / 32;
    const int probe = low + lane * step;
    const bool has_begun = probe < high && s.begin(probe, load_start(s, probe, 0)) <= padded_row;
    const int begun = std::popcount(gpu::ballot(has_begun));
    if (begun == 0) return low;
    if (low + begun * step < high) high = low + begun * step;
    low += (begun - 1) * step + 1;
  }
  return low;
}

// Caller: all lanes of a warp, with rows of which no multiple of kRowPadding lies behind the first. Starts
// and lengths are the caller's, and nobody has looked at them: what is found lies inside of q.
__device__ inline PaddedRow find_padded_row(const PaddedSequences& s, int padded_row) {
  int sequence = 0, first = 0, rows = s.rows;
  if (s.starts == nullptr) {
    sequence = padded_row / PaddedSequences::padded(s.rows);
  } else {
    sequence = count_begun(s, padded_row) - 1;
    if (sequence < 0) return {0, -1, 0};
    first = load_start(s, sequence, 0);
    rows = load_start(s, sequence + 1, first) - first;
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
