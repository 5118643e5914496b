// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/row_table.h"

namespace flashmoe::kernels::prepare_runs {

inline constexpr int kRowThreads = 512;
inline constexpr int kLook = 8;  // keys that a thread looks at, at once, for the end of a document
inline constexpr int kKeyThreads = 128;

struct Params {
  int entries;  // of the table
  int q_rows, kv_rows;
  int first_position;  // of query row 0
  Runs by_mask;        // what rows see by mask and window

  const int32_t* documents;  // as Spans has them
  int64_t documents_stride;
  const int32_t* prefix;
  const int32_t* left_padding;
  int64_t chunk, num_first_keys;

  // The table, to be written; as RowTable. `keys` null: for a forward.
  Run* rows;
  Run* first_keys;
  TileRuns* tiles;
  Run* keys;
  TileRows* key_tiles;
  int padded_rows, padded_keys;
};

}  // namespace flashmoe::kernels::prepare_runs
