// SPDX-License-Identifier: MIT
// The sequences of a call with lengths, where those can be read: in host memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "flashmoe/attention.h"
#include "problem/forward_problem.h"

namespace flashmoe {

// Rows of one batch entry.
struct BatchRows {
  int64_t batch = 0;
  Range rows;
};

// Those rows of a tensor, as a tensor.
inline Tensor part_of(const Tensor& t, const BatchRows& part) {
  Tensor view = t;
  view.sizes[0] = 1;
  view.sizes[2] = part.rows.size();
  // An empty part may lie past the end, where no pointer may point.
  if (t.data == nullptr || part.rows.size() == 0) return view;
  view.data = static_cast<std::byte*>(t.data) +
              (part.batch * t.strides[0] + part.rows.begin * t.strides[2]) * element_bytes(t.dtype);
  return view;
}

struct Sequence {
  BatchRows q, k;                // those that count
  int64_t q_end = 0, k_end = 0;  // up to here its rows lie; from q.rows.end on they don't count

  bool is_empty() const { return q.rows.size() == 0 || k.rows.size() == 0; }
  // Its rows for which there is nothing to compute: those that don't count, or all of an empty one.
  BatchRows q_gap() const { return {q.batch, {is_empty() ? q.rows.begin : q.rows.end, q_end}}; }
  BatchRows k_gap() const { return {k.batch, {is_empty() ? k.rows.begin : k.rows.end, k_end}}; }
};

// The lengths have been checked.
class Sequences {
 public:
  Sequences(const Lengths& lengths, const ForwardProblem& whole) : lengths_(lengths), whole_(whole) {}

  int64_t count() const { return lengths_.sequences; }
  const ForwardProblem& whole() const { return whole_; }

  Sequence operator[](int64_t i) const {
    Sequence sequence;
    sequence.q = place(lengths_.q_starts, lengths_.q_used, whole_.q_rows, i, sequence.q_end);
    sequence.k = place(lengths_.k_starts, lengths_.k_used, whole_.kv_rows, i, sequence.k_end);
    return sequence;
  }

  // What a call for this one alone would compute.
  ForwardProblem problem_of(const Sequence& sequence) const {
    ForwardProblem p = whole_;
    p.batch = 1;
    p.q_rows = sequence.q.rows.size();
    p.kv_rows = sequence.k.rows.size();
    return p.simplified();
  }

  // Whether there is any row for which there is nothing to compute.
  bool has_q_gaps() const {
    bool found = q_before().size() > 0 || q_behind().size() > 0;
    for (int64_t i = 0; i < count() && !found; ++i) found = (*this)[i].q_gap().rows.size() > 0;
    return found;
  }
  bool has_k_gaps() const {
    bool found = k_before().size() > 0 || k_behind().size() > 0;
    for (int64_t i = 0; i < count() && !found; ++i) found = (*this)[i].k_gap().rows.size() > 0;
    return found;
  }

  // Rows of packed tensors before the first sequence and behind the last; none of padded ones.
  Range q_before() const { return before(lengths_.q_starts); }
  Range k_before() const { return before(lengths_.k_starts); }
  Range q_behind() const { return behind(lengths_.q_starts, whole_.q_rows); }
  Range k_behind() const { return behind(lengths_.k_starts, whole_.kv_rows); }

 private:
  static BatchRows place(const int32_t* starts, const int32_t* used, int64_t rows, int64_t i, int64_t& end) {
    BatchRows found{starts != nullptr ? 0 : i, {0, rows}};
    if (starts != nullptr) found.rows = {starts[i], starts[i + 1]};
    end = found.rows.end;
    if (used != nullptr) found.rows.end = found.rows.begin + used[i];
    return found;
  }
  static Range before(const int32_t* starts) { return starts == nullptr ? Range{} : Range{0, starts[0]}; }
  Range behind(const int32_t* starts, int64_t rows) const {
    return starts == nullptr ? Range{} : Range{starts[lengths_.sequences], rows};
  }

  Lengths lengths_;
  ForwardProblem whole_;
};

}  // namespace flashmoe
