// SPDX-License-Identifier: MIT
// What kernels with tiles of 64 query rows and 64 keys know of dropout. Loops over pairs have no registers
// for drawing numbers: a tile's are drawn before them (draw_kept_pairs.h), and they read bits.
#pragma once

#include <cstdint>

#include "numeric/dropout.h"
#include "primitives/target.h"

namespace flashmoe::kernels {

// What a kernel is told of scores, and of the weights that are made of them.
template <class Scores>
struct WithPairDropout : Scores {
  PairDropout dropout;
};

// In shared memory.
struct KeptPairs {
  static constexpr int kTile = 64;
  uint32_t of_row[kTile][kTile / PairDropout::kKeys];  // bit i of word b: key 8 b + i

  // What the weight of a pair of the tile is multiplied by.
  FLASHMOE_HD float factor(const PairDropout& dropout, int row, int key) const {
    if (!dropout.any()) return 1;
    const uint32_t bits = of_row[row][key / PairDropout::kKeys];
    return (bits >> (key % PairDropout::kKeys) & 1) != 0 ? dropout.raise() : 0.0F;
  }
};

}  // namespace flashmoe::kernels
