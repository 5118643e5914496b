// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "cpu/task.h"
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

}  // namespace flashmoe::cpu
