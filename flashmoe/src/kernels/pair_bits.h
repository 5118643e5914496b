// SPDX-License-Identifier: MIT
// Which keys each query row sees, where a tensor says it for every pair: one bit each in the memory of the
// GPU, beside a table of what whole tiles have, made by prepare_pairs before the kernels that read them.
// Masks by rule are in the bits too.
#pragma once

#include <cstdint>

#include "kernels/row_table.h"
#include "primitives/target.h"

namespace flashmoe::kernels {

inline constexpr int kBitColumns = 128;  // that a lane's four neighbours have a word of each

// Bit 2 g + e of word t: column 8 g + 2 t + e, as lane t of a quad has them of an accumulator of 128 columns;
// of 64, its lower or upper half.
struct alignas(16) PairWords {
  uint32_t of_lane[4];
};

// An entry for each batch entry and head of q that the tensor tells apart.
struct PairBits {
  const PairWords* by_row = nullptr;    // [entries, padded_rows, key_blocks]: a row's keys
  const TileRuns* tiles = nullptr;      // [entries, padded_rows / 64]
  const PairWords* by_key = nullptr;    // backward: [entries, padded_keys, row_blocks]: a key's rows
  const TileRows* key_tiles = nullptr;  // [entries, padded_keys / 64]
  int padded_rows = 0,
      padded_keys = 0;  // multiples of 128; nobody sees those past the last, and they see nothing
  int batch_entries = 0,
      head_entries = 0;  // from one batch entry, or head, to the next; 0: all have the same

  FLASHMOE_HD bool given() const { return tiles != nullptr; }
  FLASHMOE_HD int64_t entry(int batch, int head) const {
    return int64_t{batch} * batch_entries + int64_t{head} * head_entries;
  }
  FLASHMOE_HD int key_blocks() const { return padded_keys / kBitColumns; }
  FLASHMOE_HD int row_blocks() const { return padded_rows / kBitColumns; }
};

}  // namespace flashmoe::kernels
