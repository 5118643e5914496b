// SPDX-License-Identifier: MIT
// What every forward kernel is told: the tensors, the problem, and which piece of it is whose.
#pragma once

#include <cstdint>

#include "primitives/target.h"

namespace flashmoe::kernels {

// [batch, heads, rows, head_dim] with contiguous head_dim; strides count elements.
struct View {
  void* data;
  int64_t batch_stride, head_stride, row_stride;
};

// Blocks are numbered along one axis. Heads go in groups whose K and V fit the L2 cache together; inside a
// group all heads of one row of tiles come before the next row, the last row first when it has the most work.
struct TileOrder {
  int q_tiles;  // per head
  int heads;    // per batch entry: query heads, or K/V heads where a group of query heads is packed
  int batch;
  int heads_at_once;  // size of a group, over all batch entries
  bool last_first;

  struct Tile {
    int batch, head, q_tile;
  };

  FLASHMOE_HD Tile tile(unsigned block) const {
    const auto all_heads = static_cast<unsigned>(heads * batch);
    const auto at_once = static_cast<unsigned>(heads_at_once);
    const auto tiles = static_cast<unsigned>(q_tiles);
    const unsigned group = block / (tiles * at_once);
    const unsigned in_group = block - group * tiles * at_once;
    const unsigned left = all_heads - group * at_once;
    const unsigned width = left < at_once ? left : at_once;
    const auto row = static_cast<int>(in_group / width);
    const auto head = static_cast<int>(group * at_once + in_group % width);
    return {head / heads, head % heads, last_first ? q_tiles - 1 - row : row};
  }
};

struct ForwardParams {
  View q, k, v, out;
  float* lse;  // [B, Hq, Sq] dense, or null
  int q_heads, q_rows, kv_rows, head_dim;
  int group;  // query heads per K/V head

  float scale_log2e;  // softmax scale * log2(e), for exp2
  bool causal;
  int causal_shift;  // causal: row i sees keys j <= i + causal_shift

  // Query heads that a tile treats as one matrix: 1, or all of a group. Packed row r is position r / pack of
  // head r % pack, so that neighbours see almost the same keys.
  int pack;
  TileOrder order;

  // Keys over several blocks: each writes its share here, and combine_splits makes the result of them.
  int num_splits;
  float* partial_out;  // [split][B, Hq, Sq][head_dim rounded up as compiled], normalised
  float* partial_lse;  // [split][B, Hq, Sq], in units of log2

  FLASHMOE_HD int visible_keys(int q_row) const {
    if (!causal) return kv_rows;
    const int64_t keys = int64_t{q_row} + 1 + causal_shift;
    return keys < 0 ? 0 : keys < kv_rows ? static_cast<int>(keys) : kv_rows;
  }
};

}  // namespace flashmoe::kernels
