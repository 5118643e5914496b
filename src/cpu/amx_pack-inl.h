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

inline void prefetch(const bf16* at) { __builtin_prefetch(at, 0, 2); }  // to the L2 cache

// A negative scale turns the order of scores around: the sign goes to Q, where it costs no rounding.
inline void pack_q(const Task& task, int64_t row, int64_t rows, std::byte* to) {
  const int64_t dim = task.problem->head_dim;
  const int64_t depth = (dim + kSliceDims - 1) / kSliceDims;
  const int64_t group = task.problem->group();
  const bool negate = task.problem->scale < 0;
  for (int64_t r = 0; r < 2 * kTileRows; ++r) {
    std::byte* tile_row = to + r / kTileRows * depth * kTileBytes + r % kTileRows * 64;
    const bf16* from = static_cast<const bf16*>(task.q) + (row + r) % group * task.q_head_stride +
                       (row + r) / group * task.q_row_stride;
    for (int64_t slice = 0; slice < depth; ++slice, tile_row += kTileBytes) {
      Words words = no_words();
      if (r < rows) words = load_words(from + slice * kSliceDims, dim - slice * kSliceDims);
      store_words(tile_row, negate ? flip_signs(words) : words);
    }
  }
}

// Keys [key, key + keys); keys past them, up to the end of their chunk, become zeros. Of the
// next block, the first `ahead` keys are asked for. The same for V.
inline void pack_k(const Task& task, int64_t key, int64_t keys, int64_t ahead, std::byte* to) {
  const int64_t dim = task.problem->head_dim;
  const int64_t end = (keys + kChunkKeys - 1) / kChunkKeys * kChunkKeys;
  for (int64_t first = 0; first < end; first += kTileRows) {
    const bf16* from = static_cast<const bf16*>(task.k) + (key + first) * task.k_row_stride;
    for (int64_t d = 0; d < dim; d += kSliceDims, to += kTileBytes) {
      Words rows[kTileRows];
      for (int64_t r = 0; r < kTileRows; ++r) {
        if (first + r < ahead) prefetch(from + (kBlockKeys + r) * task.k_row_stride + d);
        rows[r] = first + r < keys ? load_words(from + r * task.k_row_stride + d, dim - d) : no_words();
      }
      transpose_pairs(rows);
      for (int64_t r = 0; r < kTileRows; ++r) store_words(to + r * 64, rows[r]);
    }
  }
}

// Returns whether every element is finite.
inline bool pack_v(const Task& task, int64_t key, int64_t keys, int64_t ahead, std::byte* to) {
  const int64_t dim = task.problem->head_dim;
  const int64_t end = (keys + kChunkKeys - 1) / kChunkKeys * kChunkKeys;
  bool finite = true;
  for (int64_t first = 0; first < end; first += kChunkKeys) {
    const bf16* from = static_cast<const bf16*>(task.v) + (key + first) * task.v_row_stride;
    for (int64_t d = 0; d < dim; d += kSliceDims, to += 2 * kTileBytes) {
      for (int64_t r = 0; r < kTileRows; ++r) {
        const auto row = [&](int64_t i) {
          if (first + i < ahead) prefetch(from + (kBlockKeys + i) * task.v_row_stride + d);
          return first + i < keys ? load_words(from + i * task.v_row_stride + d, dim - d) : no_words();
        };
        const Words even = row(2 * r);
        const Words odd = row(2 * r + 1);
        finite &= all_finite(even) && all_finite(odd);
        store_words(to + r * 64, interleave_low(even, odd));
        store_words(to + kTileBytes + r * 64, interleave_high(even, odd));
      }
    }
  }
  return finite;
}

}  // namespace
}  // namespace flashmoe::cpu::amx
