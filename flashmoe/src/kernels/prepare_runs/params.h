// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/prepare_lengths/params.h"
#include "kernels/row_table.h"

namespace flashmoe::kernels::prepare_runs {

inline constexpr int kRowThreads = 512;
inline constexpr int kLook = 8;  // keys that a thread looks at, at once, for the end of a document
inline constexpr int kKeyThreads = 128;
inline constexpr int kSequenceThreads = 128;  // rows, or keys, of sequences of different lengths

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

// The same for sequences of different lengths, whose places take the place of entries.
struct SequenceParams {
  prepare_lengths::Side q, k;
  int sequences;
  SequenceRule rule;

  const int32_t* documents;  // as Spans has them
  int64_t documents_stride;
  const int32_t* prefix;
  const int32_t* left_padding;
  int64_t chunk, num_first_keys;

  // To be written: the document of every key, as a run of its tensor's rows; and the table, with as many rows
  // and keys as the tensors have.
  Run* key_documents;
  int document_entries;
  Run* rows;
  Run* first_keys;
  Run* keys;
};

}  // namespace flashmoe::kernels::prepare_runs
