// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/kept_pairs.h"
#include "primitives/index.h"

namespace flashmoe::kernels::inline FLASHMOE_TARGET {

// Of the tile that begins at a row and a key, by all threads of a block: one number for eight keys of a row.
// `head`: of all batch entries or sequences. Callers synchronise before and behind. Without dropout nothing
// is drawn, and nobody reads it.
template <int kThreads>
__device__ void draw_kept_pairs(KeptPairs& to, const PairDropout& dropout, int64_t head, int first_row,
                                int first_key) {
  if (!dropout.any()) return;
  constexpr int kBlocks = KeptPairs::kTile / PairDropout::kKeys;  // of keys, in a row
  for (int i = gpu::thread_index(); i < KeptPairs::kTile * kBlocks; i += kThreads) {
    const int row = i / kBlocks;
    const int block = i % kBlocks;
    to.of_row[row][block] = dropout.kept(head, first_row + row, first_key / PairDropout::kKeys + block);
  }
}

}  // namespace flashmoe::kernels::inline FLASHMOE_TARGET
