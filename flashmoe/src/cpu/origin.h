// SPDX-License-Identifier: MIT
// Where the problem of a plan lies in the tensors of a call: all of them, or one sequence.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/task.h"
#include "flashmoe/attention.h"
#include "numeric/pair_value.h"
#include "problem/sequences.h"

namespace flashmoe::cpu {

// From these batch entries and rows on.
struct Origin {
  int64_t q_batch = 0, q_row = 0;
  int64_t k_batch = 0, k_row = 0;
  int64_t sequence = 0;

  static Origin of(const Sequence& sequence, int64_t number) {
    return {sequence.q.batch, sequence.q.rows.begin, sequence.k.batch, sequence.k.rows.begin, number};
  }
};

// From a query head of a batch entry on, counted from the origin.
inline TaskScores scores_of(const Scores& scores, const Origin& origin, int64_t batch, int64_t q_head,
                            int64_t q_heads) {
  const auto at = [&](const float* all, int64_t stride) {
    return all == nullptr ? nullptr : all + (origin.sequence + batch) * stride + q_head;
  };
  TaskScores own{.slopes = at(scores.alibi_slopes, scores.slopes_batch_stride),
                 .sinks = at(scores.sinks, 0),
                 .first_head = (origin.sequence + batch) * q_heads + q_head};
  const PairTensor& pairs = scores.attn_mask;
  if (pairs.data == nullptr) return own;
  own.pairs = pairs;
  own.pairs.data = static_cast<const std::byte*>(pairs.data) +
                   ((origin.q_batch + batch) * pairs.strides[0] + q_head * pairs.strides[1] +
                    origin.q_row * pairs.strides[2] + origin.k_row * pairs.strides[3]) *
                       element_bytes(pairs.type);
  return own;
}

// The same of the gradient of its tensor.
inline PairGradient gradient_of(const PairGradient& all, const Origin& origin, int64_t batch,
                                int64_t q_head) {
  if (all.data == nullptr) return all;
  const auto& strides = all.strides;
  PairGradient own = all;
  own.data += (origin.q_batch + batch) * strides[0] + q_head * strides[1] + origin.q_row * strides[2] +
              origin.k_row * strides[3];
  return own;
}

inline void* element(const Tensor& t, int64_t batch, int64_t head, int64_t row) {
  return static_cast<std::byte*>(t.data) +
         (batch * t.strides[0] + head * t.strides[1] + row * t.strides[2]) * element_bytes(t.dtype);
}

}  // namespace flashmoe::cpu
