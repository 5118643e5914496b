// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>

#include "cpu/task.h"
#include "numeric/half.h"
#include "numeric/pair_value.h"
#include "numeric/score_function.h"

namespace flashmoe::cpu {

// What a tensor adds to the score of a key in units of log2, for a row of a head of the group; 0 where there
// is none.
inline float pair_of(const TaskScores& scores, int64_t head, int64_t row, int64_t key) {
  if (scores.pairs.data == nullptr) return 0;
  const auto& strides = scores.pairs.strides;
  return added_in_log2(pair_value(scores.pairs, head * strides[1] + row * strides[2] + key * strides[3]));
}

namespace detail {

template <class Value>
void fill_pairs(float* to, int64_t count, int64_t stride, const Value& value) {
  // A loop of its own for values side by side: the compiler makes vectors of that.
  if (stride == 1)
    for (int64_t i = 0; i < count; ++i) to[i] = added_in_log2(value(i));
  else
    for (int64_t i = 0; i < count; ++i) to[i] = added_in_log2(value(i * stride));
}

}  // namespace detail

// The same for the keys [key, key + count). There is a tensor.
inline void pairs_of_row(const TaskScores& scores, int64_t head, int64_t row, int64_t key, int64_t count,
                         float* to) {
  const PairTensor& pairs = scores.pairs;
  const int64_t stride = pairs.strides[3];
  const int64_t first = head * pairs.strides[1] + row * pairs.strides[2] + key * stride;
  const auto fill = [&](const auto* values, const auto& value) {
    detail::fill_pairs(to, count, stride, [&](int64_t i) { return value(values[first + i]); });
  };
  switch (pairs.type) {
    case PairType::fp32:
      return fill(static_cast<const float*>(pairs.data), [](float x) { return x; });
    case PairType::fp16:
      return fill(static_cast<const fp16*>(pairs.data), [](fp16 x) { return to_float(x); });
    case PairType::bf16:
      return fill(static_cast<const bf16*>(pairs.data), [](bf16 x) { return to_float(x); });
    case PairType::boolean:
      return fill(static_cast<const unsigned char*>(pairs.data),
                  [](unsigned char x) { return x != 0 ? 0.0F : -std::numeric_limits<float>::infinity(); });
  }
}

}  // namespace flashmoe::cpu
