// SPDX-License-Identifier: MIT
// Document, prefix, padding and chunk masks, computed directly from their definitions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "problem/forward_problem.h"
#include "problem/sequences.h"

namespace flashmoe::reference {

// The masks of one batch entry of a problem without variable lengths.
struct EntrySpans {
  const ForwardProblem& p;
  const Spans& spans;
  int64_t batch;

  // Whether query row i sees key j.
  bool sees(int64_t i, int64_t j) const {
    const int64_t position = i + p.first_position();
    const int64_t padding = spans.left_padding == nullptr ? 0 : std::max(spans.left_padding[batch], 0);
    if (j < padding || !same_document(position, j)) return false;
    const Range by_mask = p.visible(i);
    const int64_t prefix = spans.prefix == nullptr ? 0 : spans.prefix[batch];
    if (j >= by_mask.end && j >= prefix) return false;
    if (spans.chunk > 0 && (position < 0 || j / spans.chunk > position / spans.chunk)) return false;
    const bool in_chunk = spans.chunk == 0 || j / spans.chunk == position / spans.chunk;
    return (j >= by_mask.begin && in_chunk) || j - first_key(position, padding) < spans.first_keys;
  }

 private:
  bool same_document(int64_t position, int64_t j) const {
    if (spans.documents == nullptr) return true;
    if (position < 0 || position >= p.kv_rows) return false;
    const int32_t* ids = spans.documents + batch * spans.documents_stride;
    for (int64_t at = std::min(position, j); at < std::max(position, j); ++at)
      if (ids[at] != ids[at + 1]) return false;
    return true;
  }

  // The first key of the row's document that is not padding.
  int64_t first_key(int64_t position, int64_t padding) const {
    if (spans.documents == nullptr) return padding;
    const int32_t* ids = spans.documents + batch * spans.documents_stride;
    int64_t first = position;
    while (first > 0 && ids[first - 1] == ids[first]) --first;
    return std::max(first, padding);
  }
};

// The masks of one sequence of a variable-length call, for computing that sequence as its own problem.
inline Spans spans_of(const Spans& spans, const Sequence& sequence, int64_t i) {
  Spans alone = spans;
  if (spans.documents != nullptr)
    alone.documents += sequence.k.batch * spans.documents_stride + sequence.k.rows.begin;
  alone.documents_stride = 0;
  if (spans.prefix != nullptr) alone.prefix += i;
  if (spans.left_padding != nullptr) alone.left_padding += i;
  return alone;
}

}  // namespace flashmoe::reference
