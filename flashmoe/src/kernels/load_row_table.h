// SPDX-License-Identifier: MIT
// What a kernel reads of the table in row_table.h. Apart from it, since who plans has no CUDA headers.
#pragma once

#include "kernels/row_table.h"
#include "primitives/memory.h"

namespace flashmoe::kernels::inline FLASHMOE_TARGET {

__device__ __forceinline__ Run load_row(const RowTable& table, int batch, int row) {
  return gpu::load_global(table.rows + table.entry(batch) * table.padded_rows + row);
}
__device__ __forceinline__ TileRuns load_tile(const RowTable& table, int batch, int tile) {
  return gpu::load_global(table.tiles + table.entry(batch) * (table.padded_rows / kTableTile) + tile);
}
__device__ __forceinline__ Run load_key(const RowTable& table, int batch, int key) {
  return gpu::load_global(table.keys + table.entry(batch) * table.padded_keys + key);
}
__device__ __forceinline__ TileRows load_key_tile(const RowTable& table, int batch, int tile) {
  return gpu::load_global(table.key_tiles + table.entry(batch) * (table.padded_keys / kTableTile) + tile);
}

__device__ __forceinline__ bool sees(const RowTable& table, int batch, int row, int key) {
  const Run run = load_row(table, batch, row);
  if (key >= run.begin && key < run.end) return true;
  if (table.first_keys == nullptr) return false;
  const Run first = gpu::load_global(table.first_keys + table.entry(batch) * table.padded_rows + row);
  return key >= first.begin && key < first.end;
}

}  // namespace flashmoe::kernels::inline FLASHMOE_TARGET
