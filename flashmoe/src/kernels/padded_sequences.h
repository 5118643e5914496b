// SPDX-License-Identifier: MIT
// Query rows of sequences of different lengths in the workspace of a backward call: one sequence behind the
// other in each head, its rows up to a multiple of kRowPadding. Tiles count from a sequence's last row, so
// that those of the main kernel are whole; what its first tile has before the first row is nobody's.
#pragma once

#include <cstdint>

#include "kernels/backward_params.h"
#include "primitives/target.h"

namespace flashmoe::kernels {

struct PaddedSequences {
  const int32_t* starts = nullptr;  // q's half of the lengths: as flashmoe::Lengths has them
  const int32_t* used = nullptr;
  int sequences = 0;
  int rows = 0;            // of q: of all sequences where they are packed, else of each
  int tile_rows = 0;       // of the main kernel's tiles
  int64_t lse_stride = 0;  // floats of the LSE from one place to the next

  static FLASHMOE_HD constexpr int padded(int count) {
    return (count + kRowPadding - 1) / kRowPadding * kRowPadding;
  }
  // Where a sequence begins that has its first row at `first` of q, where that is packed. No two of them
  // meet: rounded down and up, neither loses more than the kRowPadding between them.
  FLASHMOE_HD constexpr int begin(int sequence, int first) const {
    return starts != nullptr ? (first / kRowPadding + sequence) * kRowPadding : sequence * padded(rows);
  }
};

}  // namespace flashmoe::kernels
