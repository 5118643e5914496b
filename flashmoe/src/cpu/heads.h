// SPDX-License-Identifier: MIT
// Tasks of several K/V heads, for kernels that take them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/task.h"
#include "numeric/pair_value.h"

namespace flashmoe::cpu {

// Whether the task has several heads that lie side by side in rows of K: those are read together, others one
// after the other.
inline bool are_inside_rows(const Task& task) {
  return task.heads > 1 && task.k_row_stride != task.problem->head_dim;
}

// One of a task's heads, with its own part of the scratch.
template <class T>
Task head_of(const Task& task, int64_t head, int64_t scratch_bytes) {
  Task one = task;
  one.q = static_cast<const T*>(task.q) + head * task.q_heads_stride;
  one.k = static_cast<const T*>(task.k) + head * task.k_heads_stride;
  one.v = static_cast<const T*>(task.v) + head * task.v_heads_stride;
  one.out = static_cast<T*>(task.out) + head * task.out_heads_stride;
  if (task.lse != nullptr) one.lse = task.lse + head * task.problem->group() * task.lse_head_stride;
  one.scratch = task.scratch + head * scratch_bytes;
  if (task.scores.slopes != nullptr) one.scores.slopes = task.scores.slopes + head * task.problem->group();
  if (task.scores.pairs.data != nullptr) {
    one.scores.pairs.data =
        static_cast<const std::byte*>(task.scores.pairs.data) +
        head * task.problem->group() * task.scores.pairs.strides[1] * element_bytes(task.scores.pairs.type);
  }
  if (task.scores.sinks != nullptr) one.scores.sinks = task.scores.sinks + head * task.problem->group();
  one.scores.first_head = task.scores.first_head + head * task.problem->group();
  one.heads = 1;
  return one;
}

}  // namespace flashmoe::cpu
