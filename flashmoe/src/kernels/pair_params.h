// SPDX-License-Identifier: MIT
// What kernels are told of a tensor with a value for every query row and key.
#pragma once

#include <cstdint>

#include "flashmoe/attention.h"
#include "kernels/score_params.h"

namespace flashmoe::kernels {

struct PairParams {
  const void* data;
  PairType type;
  bool by_two;  // keys are neighbours, and two of them may be read as one: there is an even number of them
  int64_t batch_stride, head_stride, row_stride, key_stride;  // elements
  int q_rows, kv_rows;                                        // that it has values for
};

// Beside all else that changes scores.
struct PairScoreParams : ScoreParams {
  PairParams pairs;
};

}  // namespace flashmoe::kernels
