// SPDX-License-Identifier: MIT
// The operators that dent knows by itself: out = softmax(scale q k^T + mask) v, where asked with the
// log-sum-exp, and its gradients.
#pragma once

#include "operators/problem.h"

namespace dent {

struct AttentionOptions {
  DType dtype = DType::fp32;
  bool causal = false;  // bottom-right: the last query sees the last key
  bool lse = false;     // forward: a second output, fp32 [B, H, Sq]
};

// Sizes of a shape: S (or Sq and Skv), D; B, H and Hkv default to 1, 1 and H.
Operator attention_forward(const AttentionOptions& options);

// dq, dk, dv from q, k, v, out, lse and dout, as P = exp(scale q k^T - lse), dS = P (dout v^T - dout . out)
// and so on. All six inputs are drawn for each call, out and lse too: a kernel takes them as they are given.
Operator attention_backward(const AttentionOptions& options);

// Fills in what follows from the sizes given: Sq, Skv, Hkv, scale, and `pairs`, the (query, key) pairs of a
// head that the mask lets through.
void complete_attention_numbers(Numbers& numbers);

}  // namespace dent
