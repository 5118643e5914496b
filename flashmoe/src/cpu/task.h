// SPDX-License-Identifier: MIT
// One piece of CPU work, for one thread: some query rows against some keys of one K/V head, or of several.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "problem/forward_problem.h"

namespace flashmoe::cpu {

// The query heads that share a K/V head are treated as one matrix of group * Sq rows, so that K and V are
// read once for all of them. Packed row r is query position r / group of head r % group: neighbours see
// almost the same keys under a causal mask. K and V themselves are a group of one.
template <class T>
struct PackedRows {
  T* first;  // of this batch entry, in the first head of the group
  int64_t head_stride, row_stride;
  int64_t group;

  T* operator[](int64_t r) const { return first + r % group * head_stride + r / group * row_stride; }
};

inline constexpr int64_t kMostHeads = 32;  // of a task

// What flashmoe::Scores has for a task: pointers address the first query head of the group, of this batch
// entry or sequence.
struct TaskScores {
  const float* slopes = nullptr;  // null: none
  const float* sinks = nullptr;   // null: none
  PairTensor pairs{};             // of [heads, rows, keys] from there on; strides[0] is not used
  int64_t first_head = 0;         // the number of that head among those of all batch entries or sequences
};

struct Task {
  const ForwardProblem* problem;

  // All pointers address this batch entry, and the first query head of the group. Strides count elements.
  const void* q;
  int64_t q_head_stride, q_row_stride;
  const void* k;
  int64_t k_row_stride;
  const void* v;
  int64_t v_row_stride;
  void* out;
  int64_t out_head_stride, out_row_stride;
  float* lse;  // may be null; of the first query head of the group
  int64_t lse_head_stride;

  int64_t row_begin, row_end;  // packed rows
  int64_t kv_begin, kv_end;    // keys; the mask narrows them further

  // When the keys of a row are split over several tasks, each leaves its share here instead of in out and
  // lse: for packed row row_begin + i, the unnormalised fp32 output [i][head_dim], and its maximum and sum.
  float* partial_out;  // null when this task sees all keys
  float* partial_max;  // in units of log2
  float* partial_sum;

  std::byte* scratch;  // this thread's own, 64-byte aligned

  // K/V heads, from the one that the pointers address on; more than 1 only for kernels that take several, and
  // then of all rows and keys. Elements from one to the next:
  int64_t heads = 1;
  int64_t q_heads_stride = 0, k_heads_stride = 0, v_heads_stride = 0, out_heads_stride = 0;

  // Elements from a block of K to the one that is read next, where a kernel had better fetch that; 0 where
  // the hardware does.
  int64_t k_next = 0;

  TaskScores scores{};

  const int32_t* cancel = nullptr;  // Execution::cancel: kernels stop between two blocks of keys
};

// visit(key) for the keys of `seen` that lie outside `full`.
template <class Visit>
void each_key_outside(Range seen, Range full, const Visit& visit) {
  for (int64_t key = seen.begin; key < std::min(full.begin, seen.end); ++key) visit(key);
  for (int64_t key = std::max(full.end, seen.begin); key < seen.end; ++key) visit(key);
}

// One way to compute a task. Which one, is decided once per process and per dtype.
struct Kernel {
  const char* name;    // for people: "tiled fp32"
  const char* reason;  // what makes it the right one
  void (*attend)(const Task&);
  // Bytes of scratch for a task of at most `rows` packed rows.
  std::size_t (*scratch_bytes)(const ForwardProblem&, int64_t rows);
  int64_t panel_rows;              // rows are worked on in groups of this many
  double packing_rows;             // what reading and packing K and V costs, in rows of arithmetic
  bool takes_heads = false;        // a task may have several K/V heads, with as many times the scratch
  double core_flop_per_us = 60e3;  // of one core, roughly: decides whether waking other threads pays
};

}  // namespace flashmoe::cpu
