// SPDX-License-Identifier: MIT
// Rows for which there is nothing to compute.
#pragma once

#include <cstdint>

#include "flashmoe/attention.h"
#include "problem/sequences.h"

namespace flashmoe::cpu {

// All of it.
void fill_zero(const Tensor& t);

inline void fill_zero(const Tensor& t, const BatchRows& rows) { fill_zero(part_of(t, rows)); }

// -inf in the rows of an LSE for tensors shaped like q, or their head's sink; null is none.
void fill_lse(float* lse, const Tensor& q, const BatchRows& rows, const float* sinks = nullptr);

}  // namespace flashmoe::cpu
