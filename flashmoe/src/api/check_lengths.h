// SPDX-License-Identifier: MIT
// Whether lengths fit their tensors.
#pragma once

#include "api/check_tensors.h"
#include "flashmoe/attention.h"

namespace flashmoe {

// Their values too, which lie in host memory on the CPU. GPUs are refused.
void check_lengths(const TensorChecks& checks, const Lengths& lengths, const Tensor& q, const Tensor& k,
                   const Execution& execution);

// The arrays that there are, for TensorChecks::apart.
struct LengthsBytes {
  explicit LengthsBytes(const Lengths& lengths);
  NamedBytes q_starts, k_starts, q_used, k_used;
};

}  // namespace flashmoe
