// SPDX-License-Identifier: MIT
// Built-in operators: out = softmax(scale q k^T + mask) v, optionally with the log-sum-exp, and its
// gradients.
#pragma once

#include "operators/problem.h"

namespace dent {

struct AttentionOptions {
  DType dtype = DType::fp32;
  bool causal = false;  // aligned bottom-right: the last query sees the last key
  bool lse = false;     // forward: second output, fp32 [B, H, Sq]
};

// A shape gives S (or Sq and Skv) and D; B, H and Hkv default to 1, 1 and H.
Operator attention_forward(const AttentionOptions& options);

// dq, dk, dv from q, k, v, out, lse and dout: P = exp(scale q k^T - lse), dS = P (dout v^T - dout . out) and
// so on. All six inputs are drawn independently for each call, including out and lse; a kernel must use them
// as given.
Operator attention_backward(const AttentionOptions& options);

// Computes Sq, Skv, Hkv, scale, and `pairs`, the number of unmasked (query, key) pairs of a head, from the
// given sizes.
void complete_attention_numbers(Numbers& numbers);

}  // namespace dent
