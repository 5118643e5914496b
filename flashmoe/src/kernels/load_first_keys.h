// SPDX-License-Identifier: MIT
// First keys of the table in row_table.h, and what rows see with them.
#pragma once

#include "kernels/load_row_table.h"

namespace flashmoe::kernels::inline FLASHMOE_TARGET {

// Only of a table that has them.
__device__ __forceinline__ Run load_first_keys(const RowTable& table, int batch, int row) {
  return gpu::load_global(table.first_keys + table.entry(batch) * table.padded_rows + row);
}

// Keys from the first to the last that any of these rows sees: no end of what rows see ever falls.
__device__ __forceinline__ Run load_hull(const RowTable& table, int batch, int first_row, int last_row) {
  const Run first = table.first_keys != nullptr ? load_first_keys(table, batch, first_row)
                                                : load_row(table, batch, first_row);
  return {first.begin, load_row(table, batch, last_row).end};
}

}  // namespace flashmoe::kernels::inline FLASHMOE_TARGET
