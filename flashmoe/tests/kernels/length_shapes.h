// SPDX-License-Identifier: MIT
// Shapes of sequences of different lengths, for tests of both directions.
#pragma once

#include "support/sequences.h"

namespace flashmoe::test {

// Of neither kind alone.
inline Shape packed_queries_and_padded_keys(Shape shape) {
  shape = packed(shape, {1, 90, 7}, {0, 0, 0});
  shape.k_starts.clear();
  shape.kv_rows = 190;
  shape.k_used = {133, 190, 12};
  return shape;
}

// What tensor-core kernels take, with up to `most` rows and keys.
inline Shape random_shape(uint64_t seed, int64_t most) {
  Dice dice(seed);
  Shape shape{.seed = seed};
  shape.head_dim = dice.one_of({40, 64, 128});
  shape.dtype = dice.between(0, 1) == 0 ? DType::fp16 : DType::bf16;
  shape.mask = dice.one_of(kMasks);
  shape.kv_heads = dice.one_of({1, 2});
  shape.q_heads = 2;
  throw_lengths(dice, most, most, shape);
  if (dice.between(0, 1) == 0) shape.window = dice.window(200);
  return shape;
}

}  // namespace flashmoe::test
