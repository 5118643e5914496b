// SPDX-License-Identifier: MIT
// Sequences of different lengths, as kernels know them: a list of their tiles in the memory of the GPU, made
// by prepare_lengths before the kernels that read it. The host knows how long the list may be, and no more.
#pragma once

#include <cstdint>

#include "kernels/runs.h"
#include "primitives/target.h"

namespace flashmoe::kernels {

// Mask and window of every sequence, from which its own lengths make runs.
struct SequenceRule {
  int left, right;  // keys that a row sees before its position, and behind it; at most 2^30
  bool from_first;  // positions count from the first key on, else up to the last

  // The key that stands where a sequence's row 0 does; there need not be one.
  FLASHMOE_HD constexpr int first_position(int q_rows, int kv_rows) const {
    return from_first ? 0 : kv_rows - q_rows;
  }
  // The twin of dispatch/runs.h.
  FLASHMOE_HD constexpr Runs runs(int q_rows, int kv_rows) const {
    const int64_t position = first_position(q_rows, kv_rows);
    return {cut(position - left, q_rows, kv_rows), cut(position + right + 1, q_rows, kv_rows)};
  }

 private:
  static FLASHMOE_HD constexpr int cut(int64_t key, int q_rows, int kv_rows) {
    return static_cast<int>(key < -q_rows ? -q_rows : key < kv_rows ? key : kv_rows);
  }
};

// A tile of query rows, or of keys, of one sequence; all heads have it.
struct alignas(32) SequenceTile {
  int q_place, q_rows;  // its first row in q where that is packed, else its entry; and how many rows count
  int k_place, k_rows;
  int first_row;  // of the tile, in the sequence
  int sequence;   // its number; kNoSequence: there is no tile here, nor behind
};
inline constexpr int kNoSequence = -1;

// Views of tensors that are packed have the stride of a row as that of a batch entry: a place is then one
// whatever the tensor is like.
struct SequenceTiles {
  const SequenceTile* tiles = nullptr;  // those with the most work come first; of keys, a sequence's together
  int64_t lse_stride = 0;               // floats of the LSE from one q_place to the next
  SequenceRule rule{};
};

// Where sequences may lie: rows of a packed tensor, or entries of a padded one.
struct Places {
  int64_t q, k;
};

}  // namespace flashmoe::kernels
