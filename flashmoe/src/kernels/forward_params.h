// SPDX-License-Identifier: MIT
// What every forward kernel is told: the tensors, the problem, and which piece of it is whose.
#pragma once

#include <cstdint>

#include "kernels/divisor.h"
#include "kernels/row_stats.h"
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
  int heads_at_once;  // size of a group, over all batch entries; the last one may be smaller
  bool last_first;
  Divisor by_group_tiles, by_group, by_last_group, by_heads;

  TileOrder() = default;
  TileOrder(int tiles_per_head, int heads_per_batch, int batches, int group, bool last_row_first)
      : q_tiles(tiles_per_head),
        heads(heads_per_batch),
        batch(batches),
        heads_at_once(group),
        last_first(last_row_first),
        by_group_tiles(static_cast<uint32_t>(q_tiles * heads_at_once)),
        by_group(static_cast<uint32_t>(heads_at_once)),
        by_last_group(static_cast<uint32_t>((heads * batch - 1) % heads_at_once + 1)),
        by_heads(static_cast<uint32_t>(heads)) {}

  struct Tile {
    int batch, head, q_tile;
  };

  FLASHMOE_HD Tile tile(uint32_t block) const {
    const uint32_t group = by_group_tiles.divide(block);
    const uint32_t in_group = block - group * by_group_tiles.value();
    const uint32_t first = group * by_group.value();
    const bool is_last = first + by_group.value() > static_cast<uint32_t>(heads * batch);
    const uint32_t row = is_last ? by_last_group.divide(in_group) : by_group.divide(in_group);
    const uint32_t width = is_last ? by_last_group.value() : by_group.value();
    const uint32_t head = first + in_group - row * width;
    const uint32_t entry = by_heads.divide(head);
    const auto q_tile = static_cast<int>(row);
    return {static_cast<int>(entry), static_cast<int>(head - entry * by_heads.value()),
            last_first ? q_tiles - 1 - q_tile : q_tile};
  }
};

struct ForwardParams {
  View q, k, v, out;
  float* lse;  // [B, Hq, Sq] dense, or null
  int q_heads, q_rows, kv_rows, head_dim;
  int group;         // query heads per K/V head
  Divisor by_group;  // the same

  float scale_log2e;  // softmax scale * log2(e), for exp2
  bool causal;
  int causal_shift;  // causal: row i sees keys j <= i + causal_shift

  // Query heads that a tile treats as one matrix: 1, or all of a group. Packed row r is position r / pack of
  // head r % pack, so that neighbours see almost the same keys.
  int pack;
  Divisor by_pack;  // the same
  TileOrder order;

  // Keys over several blocks: each writes its share here, and combine_splits makes the result of them.
  int num_splits;
  Divisor by_splits;        // the same
  float* partial_out;       // [split][B, Hq, Sq][head_dim rounded up as compiled], normalised
  RowStats* partial_stats;  // [split][B, Hq, Sq]

  // The first of `tiles` tiles of keys that are a split's share; the next split's first is its end.
  FLASHMOE_HD int first_of_split(int tiles, int split) const {
    const auto each = static_cast<int>(by_splits.divide(static_cast<uint32_t>(tiles)));
    const int longer = tiles - each * num_splits;  // splits with one tile more
    return split * each + (split < longer ? split : longer);
  }

  FLASHMOE_HD int visible_keys(int q_row) const {
    if (!causal) return kv_rows;
    const int64_t keys = int64_t{q_row} + 1 + causal_shift;
    return keys < 0 ? 0 : keys < kv_rows ? static_cast<int>(keys) : kv_rows;
  }
};

}  // namespace flashmoe::kernels
