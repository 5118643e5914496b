// SPDX-License-Identifier: MIT
// Random problems for GPUs: what those with lengths, spans and scores have in common.
#pragma once

#include <cstddef>

#include "support/dice.h"
#include "support/problem.h"

namespace flashmoe::test {

// Four query heads that share two of keys, in one of the types.
template <std::size_t n>
Shape random_heads(Dice& dice, uint64_t seed, const DType (&types)[n]) {
  Shape shape{.q_heads = 4, .kv_heads = 2, .seed = seed};
  shape.dtype = dice.one_of(types);
  shape.mask = dice.one_of(kMasks);
  shape.head_dim = dice.one_of({40, 64, 96, 128, 256});
  return shape;
}

// As many rows as keys, or not, up to 700, and a window.
inline void throw_rows(Dice& dice, Shape& shape) {
  shape.kv_rows = dice.length(700);
  shape.q_rows = dice.between(0, 1) == 0 ? shape.kv_rows : dice.length(700);
  shape.window = dice.window(shape.kv_rows);
}

}  // namespace flashmoe::test
