// SPDX-License-Identifier: MIT
// The sequences of a call with lengths, where those can be read: in host memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "flashmoe/attention.h"
#include "problem/forward_problem.h"
#include "problem/row_runs.h"

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

// The lengths, and spans, have been checked.
class Sequences {
 public:
  Sequences(const Lengths& lengths, const ForwardProblem& whole, const Spans& spans = {})
      : lengths_(lengths), whole_(whole), spans_(spans) {
    if (!lengths.given()) lengths_.sequences = whole.batch;  // each batch entry is one
  }

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
    p.lengths = {};
    p.batch = 1;
    p.q_rows = sequence.q.rows.size();
    p.kv_rows = sequence.k.rows.size();
    p = p.simplified();
    const int64_t row = sequence.q.batch * whole_.q_rows + sequence.q.rows.begin;
    if (rows_ != nullptr) p.rows = rows_ + row;
    if (first_keys_ != nullptr) p.first_keys = first_keys_ + row;
    return p;
  }

  // Runs that the rows of all sequences need, where they follow no rule; and as many more for first keys.
  int64_t row_runs() const { return spans_.given() ? whole_.batch * whole_.q_rows : 0; }
  int64_t first_key_runs() const { return spans_.first_keys > 0 ? row_runs() : 0; }
  // The same sequences, with what their rows see in memory for so many.
  Sequences with_rows(RowRun* rows, RowRun* first_keys) const {
    if (row_runs() == 0) return *this;
    for (int64_t i = 0; i < count(); ++i) {
      const Sequence sequence = (*this)[i];
      const int64_t first = sequence.q.batch * whole_.q_rows + sequence.q.rows.begin;
      each_row_spans(problem_of(sequence), spans_of(sequence, i), [&](int64_t row, const RowSpans& seen) {
        rows[first + row] = seen.run;
        if (first_key_runs() > 0) first_keys[first + row] = seen.first_keys;
      });
    }
    Sequences known = *this;
    known.rows_ = rows;
    if (first_key_runs() > 0) known.first_keys_ = first_keys;
    return known;
  }

  SequenceSpans spans_of(const Sequence& sequence, int64_t i) const {
    SequenceSpans spans{.chunk = spans_.chunk, .first_keys = spans_.first_keys};
    if (spans_.documents != nullptr && sequence.k.rows.size() > 0) {
      spans.documents = spans_.documents + sequence.k.batch * spans_.documents_stride + sequence.k.rows.begin;
    }
    if (spans_.prefix != nullptr) spans.prefix = spans_.prefix[i];
    if (spans_.left_padding != nullptr) spans.left_padding = spans_.left_padding[i];
    return spans;
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
  Spans spans_;
  const RowRun* rows_ = nullptr;
  const RowRun* first_keys_ = nullptr;
};

}  // namespace flashmoe
