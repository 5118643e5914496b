// SPDX-License-Identifier: MIT
// The tensors of a backward call.
#pragma once

#include "flashmoe/attention.h"

namespace flashmoe {

struct BackwardArgs {
  Tensor q, k, v;               // as for attention_forward
  Tensor out;                   // as it left it
  const float* lse = nullptr;   // the same
  Tensor dout;                  // [B, Hq, Sq, D]: the gradient of out
  const float* dlse = nullptr;  // [B, Hq, Sq] dense: the gradient of lse, or null
  Tensor dq;                    // [B, Hq, Sq, D]
  Tensor dk, dv;                // [B, Hkv, Skv, D]: sums over the query heads that share a K/V head
  Mask mask = Mask::none;
  std::optional<float> scale{};  // as for attention_forward
  bool deterministic = false;    // the same arguments give the same bits; dk and dv do in any case
  Execution execution{};
};

}  // namespace flashmoe
