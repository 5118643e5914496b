// SPDX-License-Identifier: MIT
// What every backward kernel is told: the tensors, the problem, and the space between the kernels of a call.
// prepare_backward begins it, a main kernel (hopper_backward, ampere_backward) leaves dk, dv and sums for dq,
// and finish_backward makes dq of those. naive_backward does everything by itself.
#pragma once

#include <cstdint>

#include "kernels/forward_params.h"
#include "kernels/row_table.h"
#include "kernels/runs.h"
#include "primitives/target.h"

namespace flashmoe::kernels {

// Query rows in workspace are rounded up to a multiple of this, so that every tile is whole.
inline constexpr int kRowPadding = 128;

// Sums for dq come in pieces of 64 rows and 64 columns, in the order in which four warps hold them: for every
// 8 columns, for each of 128 threads, 4 floats. Pieces of a row of them lie side by side. With
// sums_by_element, each warp's 32 threads have their first floats side by side, then their second ones, ...:
// additions of one float per thread are then 128 bytes in a run.
inline constexpr int kDqPieceRows = 64;
inline constexpr int kDqPieceColumns = 64;
inline constexpr int kDqPieceFloats = kDqPieceRows * kDqPieceColumns;

struct BackwardParams {
  View q, k, v, out, dout;  // out as the forward left it
  View dq, dk, dv;
  const float* lse;   // [B, Hq, Sq] dense, as the forward left it
  const float* dlse;  // the same, or null: gradients of the LSE
  int batch, q_heads, kv_heads, q_rows, kv_rows, head_dim;
  int group;  // query heads per K/V head

  float scale;
  float scale_log2e;  // scale * log2(e), for exp2
  int causal_shift;   // row i sees no key behind i + causal_shift

  // Tiles of keys, of K/V heads.
  TileOrder order;

  // Workspace. Rows of a query head are padded_rows.
  int padded_rows;
  int padded_dim;   // head_dim as compiled
  float* lse_log2;  // [B Hq][padded_rows], as numeric/lse_log2.h makes it; +inf for rows past the end
  float* delta;     // [B Hq][padded_rows]: dout . out - dlse
  float* dq_sums;   // [B Hq][padded_rows / 64][padded_dim / 64] pieces
  int* counters;    // num_counters(), all zero at first

  bool in_order;  // whether they are: the same arguments then give the same bits
  bool sums_by_element;

  Runs runs;       // what rows see; most kernels know only where it ends: causal_shift
  RowTable table;  // what they see where that follows no rule

  unsigned blocks;  // that share the tiles, where a kernel's form is persistent

  // One for the numbers of tiles, where blocks take those; then, in order, one per piece of dq_sums.
  FLASHMOE_HD int64_t num_counters() const {
    if (!in_order) return 1;
    return 1 + int64_t{batch} * q_heads * (padded_rows / kDqPieceRows) * (padded_dim / kDqPieceColumns);
  }
};

}  // namespace flashmoe::kernels
