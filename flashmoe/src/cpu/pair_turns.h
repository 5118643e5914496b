// SPDX-License-Identifier: MIT
// Tasks that add to the same elements of a gradient of pairs (BackwardArgs::dattn_mask) take turns, always in
// the same order. Without such a gradient every task is for itself.
#pragma once

#include <cstdint>

#include "flashmoe/attention.h"
#include "problem/forward_problem.h"

namespace flashmoe::cpu {

struct PairTurns {
  // Whether each has elements of its own.
  bool each_batch = true, each_head = true, each_key = true;

  static PairTurns of(const PairGradient& gradient) {
    if (gradient.data == nullptr) return {};
    return {gradient.strides[0] != 0, gradient.strides[1] != 0, gradient.strides[3] != 0};
  }

  // Groups of K/V heads, of all batch entries: the heads of one take turns, groups don't wait for each other.
  int64_t groups(const ForwardProblem& p) const {
    return (each_batch ? p.batch : 1) * (each_head ? p.kv_heads : 1);
  }

  // visit(head) for those of a group, numbered over all batch entries.
  template <class Visit>
  void each_in_group(const ForwardProblem& p, int64_t group, const Visit& visit) const {
    const int64_t per_batch = each_head ? p.kv_heads : 1;
    const int64_t batch = group / per_batch, head = group % per_batch;
    for (int64_t b = each_batch ? batch : 0; b < (each_batch ? batch + 1 : p.batch); ++b)
      for (int64_t h = each_head ? head : 0; h < (each_head ? head + 1 : p.kv_heads); ++h)
        visit(b * p.kv_heads + h);
  }
};

}  // namespace flashmoe::cpu
