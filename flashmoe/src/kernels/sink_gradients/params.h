// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/forward_params.h"

namespace flashmoe::kernels::sink_gradients {

inline constexpr int kThreads = 512;

struct SinkParams {
  View out, dout;
  const float* lse;   // [B, Hq, Sq] dense, as the forward left it
  const float* dlse;  // the same, or null: gradients of the LSE
  const float* sinks;
  float* dsinks;  // [Hq]
  int batch, q_heads, q_rows, head_dim;

  // As BackwardParams has them, where prepare_backward ran before: then nothing of out, dout, lse and dlse is
  // read.
  const float* lse_log2 = nullptr;
  const float* delta = nullptr;
  int padded_rows = 0;
};

}  // namespace flashmoe::kernels::sink_gradients
