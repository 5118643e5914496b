// SPDX-License-Identifier: MIT
// Q, K and V as the tiles multiply them, the head dimension padded with zeros to a multiple of 32. `depth`
// counts those slices of 32 dimensions.
//   Q, left operand:   [row tile of 16][depth] tiles
//   K^T, right operand: [key tile of 16][depth] tiles
//   V, right operand:  [chunk of 32 keys][2 * depth] tiles. Two neighbours share 32 dimensions: the first has
//   those
//                      with d % 8 < 4, the second the others, which is how interleaving within 128 bits comes
//                      out.
#pragma once

#include "cpu/amx_tiles.h"
#include "cpu/amx_vector-inl.h"
#include "cpu/task.h"

namespace flashmoe::cpu::amx {
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kSliceDims = 32;   // head dimensions that one product of tiles sums over
constexpr int64_t kChunkKeys = 32;   // keys that one product of tiles sums over
constexpr int64_t kBlockKeys = 128;  // keys of a block; of its S and P, two of each stay in the L1 cache

// Some rows of up to 32 words each; what lies past them counts as zeros.
struct RowsOfWords {
  const bf16* from;
  int64_t stride;
  int64_t rows;
  int64_t words;

  // kWhole: nothing lies past them.
  template <bool kWhole>
  Words row(int64_t r) const {
    if constexpr (kWhole) return load_words(from + r * stride);
    return r < rows ? load_words(from + r * stride, words) : no_words();
  }
};

// A negative scale turns the order of scores around: the sign goes to Q, where it costs no rounding.
inline void pack_q(const Task& task, int64_t row, int64_t rows, std::byte* to) {
  const int64_t dim = task.problem->head_dim;
  const int64_t depth = (dim + kSliceDims - 1) / kSliceDims;
  const int64_t group = task.problem->group();
  const bool negate = task.problem->scale < 0;
  int64_t position = row / group;
  int64_t head = row % group;
  for (int64_t r = 0; r < 2 * kTileRows; ++r) {
    std::byte* tile_row = to + r / kTileRows * depth * kTileBytes + r % kTileRows * 64;
    const bf16* from =
        static_cast<const bf16*>(task.q) + head * task.q_head_stride + position * task.q_row_stride;
    for (int64_t slice = 0; slice < depth; ++slice, tile_row += kTileBytes) {
      Words words = no_words();
      if (r < rows) words = load_words(from + slice * kSliceDims, dim - slice * kSliceDims);
      store_words(tile_row, negate ? flip_signs(words) : words);
    }
    if (++head == group) {
      head = 0;
      ++position;
    }
  }
}

template <bool kWhole>
inline void pack_k_tile(const RowsOfWords& keys, std::byte* to) {
  Words rows[kTileRows];
  for (int64_t r = 0; r < kTileRows; ++r) rows[r] = keys.row<kWhole>(r);
  store_transposed_pairs(rows, to);
}

// Asks for rows [row, row + rows), in small numbers between other work: they find their way to the L2 cache
// meanwhile.
inline void prefetch_rows(const void* from, int64_t stride, int64_t row, int64_t rows, int64_t dim) {
  for (int64_t r = row; r < row + rows; ++r) {
    for (int64_t d = 0; d < dim; d += 32)
      __builtin_prefetch(static_cast<const bf16*>(from) + r * stride + d, 0, 2);
  }
}

// Keys [key, key + keys); keys past them, up to the end of their chunk, become zeros. Of the block behind,
// `ahead` keys are prefetched. The same for V.
inline void pack_k(const Task& task, int64_t key, int64_t keys, int64_t ahead, std::byte* to) {
  const int64_t dim = task.problem->head_dim;
  const int64_t end = (keys + kChunkKeys - 1) / kChunkKeys * kChunkKeys;
  for (int64_t first = 0; first < end; first += kTileRows) {
    prefetch_rows(task.k, task.k_row_stride, key + kBlockKeys + first, std::min(kTileRows, ahead - first),
                  dim);
    const bf16* from = static_cast<const bf16*>(task.k) + (key + first) * task.k_row_stride;
    for (int64_t d = 0; d < dim; d += kSliceDims, to += kTileBytes) {
      const RowsOfWords rows{from + d, task.k_row_stride, keys - first, dim - d};
      if (rows.rows >= kTileRows && rows.words >= kSliceDims) {
        pack_k_tile<true>(rows, to);
      } else {
        pack_k_tile<false>(rows, to);
      }
    }
  }
}

// Two tiles. Returns the largest magnitude among `largest` and the values, as bits.
template <bool kWhole>
inline Words pack_v_tiles(const RowsOfWords& keys, std::byte* to, Words largest) {
  for (int64_t r = 0; r < kTileRows; ++r) {
    const Words even = keys.row<kWhole>(2 * r);
    const Words odd = keys.row<kWhole>(2 * r + 1);
    largest = max_magnitudes(max_magnitudes(largest, even), odd);
    store_words(to + r * 64, interleave_low(even, odd));
    store_words(to + kTileBytes + r * 64, interleave_high(even, odd));
  }
  return largest;
}

// Returns whether every element is finite.
inline bool pack_v(const Task& task, int64_t key, int64_t keys, int64_t ahead, std::byte* to) {
  const int64_t dim = task.problem->head_dim;
  Words largest = no_words();
  for (int64_t first = 0; first < keys; first += kChunkKeys) {
    prefetch_rows(task.v, task.v_row_stride, key + kBlockKeys + first, std::min(kChunkKeys, ahead - first),
                  dim);
    const bf16* from = static_cast<const bf16*>(task.v) + (key + first) * task.v_row_stride;
    for (int64_t d = 0; d < dim; d += kSliceDims, to += 2 * kTileBytes) {
      const RowsOfWords rows{from + d, task.v_row_stride, keys - first, dim - d};
      const bool whole = rows.rows >= kChunkKeys && rows.words >= kSliceDims;
      largest = whole ? pack_v_tiles<true>(rows, to, largest) : pack_v_tiles<false>(rows, to, largest);
    }
  }
  return all_finite(largest);
}

}  // namespace
}  // namespace flashmoe::cpu::amx
