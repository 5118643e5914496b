// SPDX-License-Identifier: MIT
// Which keys each query row sees, where no rule says it for all of them: arrays in the memory of the GPU,
// made by prepare_runs before the kernels that read them. Both ends of a row's run never fall from row to
// row.
#pragma once

#include <cstdint>

#include "kernels/runs.h"
#include "primitives/target.h"

namespace flashmoe::kernels {

inline constexpr int kTableTile = 64;    // rows, or keys, that share an entry
inline constexpr int kNobody = 1 << 30;  // behind every row and key

// What 64 rows see: nothing before min_begin or from max_end on, and all of them everything from max_begin to
// min_end. Rows that see nothing don't count for the first two, and leave nothing that all see.
struct alignas(16) TileRuns {
  int min_begin, max_begin, min_end, max_end;
};

// The rows that see any of 64 keys, and those that see all of them.
struct alignas(16) TileRows {
  int begin, end, full_begin, full_end;
};

struct RowTable {
  // Of a batch entry: padded_rows rows, padded_keys keys. Those past the last are as the last row, or are
  // seen by nobody. One entry for all, or one each; with lengths places (sequence_tiles.h), and none past.
  const Run* rows = nullptr;        // null: rows follow a rule
  const Run* first_keys = nullptr;  // what rows see beside; null: nothing
  const TileRuns* tiles = nullptr;  // of rows; null with lengths
  const Run* keys = nullptr;        // backward: the rows that see a key
  const TileRows* key_tiles = nullptr;
  int padded_rows = 0, padded_keys = 0;
  bool per_entry = false;

  FLASHMOE_HD bool given() const { return rows != nullptr; }
  FLASHMOE_HD int64_t entry(int batch) const { return per_entry ? batch : 0; }
};

}  // namespace flashmoe::kernels
