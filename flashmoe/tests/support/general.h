// SPDX-License-Identifier: MIT
// Test problems for kernels that support masks, variable lengths and changed scores in combination.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "support/dice.h"
#include "support/problem.h"
#include "support/sequences.h"
#include "support/spans.h"

namespace flashmoe::test {

// Sinks, one per head; slopes, one per head of each batch entry or sequence.
inline std::vector<float> some_sinks(const Shape& shape) {
  std::vector<float> sinks;
  for (int64_t h = 0; h < shape.q_heads; ++h) sinks.push_back(static_cast<float>(h % 5) - 2);
  return sinks;
}
inline std::vector<float> some_slopes(const Shape& shape) {
  std::vector<float> slopes;
  for (int64_t i = 0; i < shape.batch * shape.q_heads; ++i)
    slopes.push_back(std::exp2(-static_cast<float>(i % 7 + 1)));
  return slopes;
}

// Chooses changes of scores other than mask tensors: none, one or several.
inline void throw_scores(Dice& dice, Shape& shape) {
  const int64_t which = dice.between(0, 15);
  if ((which & 1) != 0) shape.softcap = dice.one_of({0.5F, 3.0F, 30.0F});
  if ((which & 2) != 0) shape.slopes = some_slopes(shape);
  if ((which & 4) != 0) shape.sinks = some_sinks(shape);
  if ((which & 8) != 0) shape.scale = dice.one_of({-0.3F, 0.0F, 1e-40F});
}

// A 16-bit problem with up to `most` rows and keys whose rows are multiples of 16 bytes: named masks,
// variable lengths, both or neither, and changes of scores.
inline Shape random_general_shape(uint64_t seed, int64_t most) {
  Dice dice(seed);
  Shape shape{.seed = seed};
  shape.head_dim = dice.one_of({40, 64, 64, 96, 128, 128, 256});
  shape.dtype = dice.one_of({DType::fp16, DType::bf16});
  shape.mask = dice.one_of(kMasks);
  shape.kv_heads = dice.one_of({1, 2});
  shape.q_heads = shape.kv_heads * dice.one_of({1, 2, 4});
  shape.spread = dice.one_of({1.0F, 1.0F, 6.0F});
  const bool lengths = dice.between(0, 2) == 0, spans = dice.between(0, 1) == 0;
  if (lengths) {
    throw_lengths(dice, most, most, shape);
  } else {
    shape.batch = dice.one_of({1, 2});
    shape.kv_rows = dice.length(most);
    shape.q_rows = dice.between(0, 1) == 0 ? shape.kv_rows : dice.length(most);
  }
  shape.window = dice.window(std::max<int64_t>(shape.kv_rows, 1));
  if (spans && shape.kv_rows > 0) throw_spans(dice, shape);
  throw_scores(dice, shape);
  return shape;
}

inline constexpr PairType kPairTypes[] = {PairType::fp32, PairType::fp16, PairType::bf16, PairType::boolean};

// Adds a mask tensor of any type and strides.
inline void throw_pairs(Dice& dice, Shape& shape) {
  shape.pairs = dice.one_of(kPairTypes);
  shape.pairs_aligned = dice.between(0, 1) == 0;
  shape.pairs_step = dice.one_of({1, 1, 1, 2});
  for (bool& shared : shape.pairs_shared) shared = dice.between(0, 2) == 0;
}

// A random problem with a mask tensor and perhaps dropout, without variable lengths.
inline Shape random_pairs_shape(uint64_t seed, int64_t most) {
  Dice dice(seed);
  Shape shape{.seed = seed};
  shape.head_dim = dice.one_of({40, 64, 64, 96, 128, 128, 256});
  shape.dtype = dice.one_of({DType::fp16, DType::bf16});
  shape.mask = dice.one_of(kMasks);
  shape.layout = dice.one_of({Layout::bhsd, Layout::bshd});
  shape.kv_heads = dice.one_of({1, 2});
  shape.q_heads = shape.kv_heads * dice.one_of({1, 2, 4});
  shape.spread = dice.one_of({1.0F, 1.0F, 6.0F});
  shape.batch = dice.one_of({1, 2});
  shape.kv_rows = dice.length(most);
  shape.q_rows = dice.between(0, 1) == 0 ? shape.kv_rows : dice.length(most);
  shape.window = dice.window(shape.kv_rows);
  if (dice.between(0, 1) == 0) throw_spans(dice, shape);
  throw_scores(dice, shape);
  throw_pairs(dice, shape);
  if (dice.between(0, 2) == 0) shape.dropout = {.p = 0.3F, .seed = seed << 30};
  return shape;
}

}  // namespace flashmoe::test
