// SPDX-License-Identifier: MIT
// Where the problem of a plan lies in the tensors of a call: all of them, or one sequence.
#pragma once

#include <cstddef>
#include <cstdint>

#include "flashmoe/attention.h"
#include "problem/sequences.h"

namespace flashmoe::cpu {

// From these batch entries and rows on.
struct Origin {
  int64_t q_batch = 0, q_row = 0;
  int64_t k_batch = 0, k_row = 0;

  static Origin of(const Sequence& sequence) {
    return {sequence.q.batch, sequence.q.rows.begin, sequence.k.batch, sequence.k.rows.begin};
  }
};

inline void* element(const Tensor& t, int64_t batch, int64_t head, int64_t row) {
  return static_cast<std::byte*>(t.data) +
         (batch * t.strides[0] + head * t.strides[1] + row * t.strides[2]) * element_bytes(t.dtype);
}

}  // namespace flashmoe::cpu
