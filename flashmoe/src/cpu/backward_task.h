// SPDX-License-Identifier: MIT
// One piece of the backward's work, for one thread: some keys of one K/V head against all rows that see them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/task.h"

namespace flashmoe::cpu {

// A tensor whose element type is known at run time. Strides count elements.
template <class Void>
struct Rows {
  Void* first;
  int64_t head_stride, row_stride;

  template <class T>
  PackedRows<T> as(int64_t group) const {
    return {static_cast<T*>(first), head_stride, row_stride, group};
  }
};

struct BackwardTask {
  const ForwardProblem* problem;

  Rows<const void> q, out, dout;  // from the first query head of the group on
  Rows<const void> k, v;          // of the K/V head
  Rows<void> dq, dk, dv;
  const float* lse;   // of the first query head of the group
  const float* dlse;  // the same, or null
  int64_t lse_head_stride;
  TaskScores scores;
  PairGradient dpairs;  // of scores.pairs, from the first query head of the group on; data may be null

  int64_t kv_begin, kv_end;  // keys: the task computes dk and dv of these, and their share of dq

  float* dq_sums;      // [packed row][sum_stride of the kernel]: left here, without the scale,
  bool stores_dq;      // and stored in dq too: no other task has keys of this head
  std::byte* scratch;  // this thread's own, 64-byte aligned

  const int32_t* cancel;  // Execution::cancel: kernels stop between two blocks
};

// One way to compute a task.
struct BackwardKernel {
  const char* name;    // for people: "tiled fp32"
  const char* reason;  // what makes it the right one
  void (*differentiate)(const BackwardTask&);
  // Bytes of scratch for a task of at most `keys` keys.
  std::size_t (*scratch_bytes)(const ForwardProblem&, int64_t keys);
  int64_t panel_rows;                       // dq_sums has a multiple of so many rows
  int64_t (*sum_stride)(int64_t head_dim);  // floats from one of them to the next
  double packing_keys;                      // what packing Q and dO costs, in keys of arithmetic
  double core_flop_per_us;                  // of one core, roughly
};

}  // namespace flashmoe::cpu
