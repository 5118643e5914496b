// SPDX-License-Identifier: MIT
// One piece of the backward's work, for one thread: some keys of one K/V head against all rows that see them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "problem/forward_problem.h"

namespace flashmoe::cpu {

// Rows of the query heads that share a K/V head, as one matrix: row r is query position r / group of head
// r % group, as in Task of cpu/task.h.
template <class T>
struct GroupRows {
  T* first;  // of this batch entry, in the first head of the group
  int64_t head_stride, row_stride;
  int64_t group;

  T* operator[](int64_t r) const { return first + r % group * head_stride + r / group * row_stride; }
};

// A tensor whose element type is known at run time. Strides count elements.
template <class Void>
struct Rows {
  Void* first;
  int64_t head_stride, row_stride;

  template <class T>
  GroupRows<T> as(int64_t group) const {
    return {static_cast<T*>(first), head_stride, row_stride, group};
  }
};

struct BackwardTask {
  const ForwardProblem* problem;

  Rows<const void> q, out, dout;  // from the first query head of the group on
  Rows<const void> k, v;          // of the K/V head
  Rows<void> dq, dk, dv;
  const float* lse;   // [head of the group][Sq], dense
  const float* dlse;  // the same, or null

  int64_t kv_begin, kv_end;  // keys: the task computes dk and dv of these, and their share of dq

  float* dq_sums;      // [packed row][sum_stride of the kernel]: left here, without the scale,
  bool stores_dq;      // and stored in dq too: no other task has keys of this head
  std::byte* scratch;  // this thread's own, 64-byte aligned
};

// One way to compute a task.
struct BackwardKernel {
  const char* name;    // for people: "tiled fp32"
  const char* reason;  // what makes it the right one
  void (*differentiate)(const BackwardTask&);
  // Bytes of scratch for a task of at most `keys` keys.
  std::size_t (*scratch_bytes)(const ForwardProblem&, int64_t keys);
  int64_t (*sum_stride)(int64_t head_dim);  // floats from one row of dq_sums to the next
  double packing_keys;                      // what packing Q and dO costs, in keys of arithmetic
  double core_flop_per_us;                  // of one core, roughly
};

}  // namespace flashmoe::cpu
