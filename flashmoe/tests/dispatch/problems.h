// SPDX-License-Identifier: MIT
// Problems for tests of plans.
#pragma once

#include "dispatch/plan.h"

namespace flashmoe::dispatch {

inline ForwardProblem problem(int64_t batch, int64_t heads, int64_t rows, int64_t keys, int64_t head_dim,
                              DType dtype = DType::bf16) {
  return {.batch = batch,
          .q_heads = heads,
          .kv_heads = heads,
          .q_rows = rows,
          .kv_rows = keys,
          .head_dim = head_dim,
          .dtype = dtype,
          .scale = 0.125F};
}

inline ForwardProblem windowed(ForwardProblem p, int64_t left, int64_t right) {
  p.window = {left, right};
  return p;
}

}  // namespace flashmoe::dispatch
