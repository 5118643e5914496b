// SPDX-License-Identifier: MIT
// From spans to what each row sees.
#pragma once

#include <algorithm>
#include <cstdint>

#include "problem/forward_problem.h"

namespace flashmoe {

// The spans of one sequence.
struct SequenceSpans {
  const int32_t* documents = nullptr;  // of its keys; null: they are all one
  int64_t prefix = 0;
  int64_t left_padding = 0;
  int64_t chunk = 0;
  int64_t first_keys = 0;
};

struct RowSpans {
  RowRun run;
  RowRun first_keys;  // what the row sees before that; empty where its run begins with them
};

// What the row at `position` sees, which by mask and window is `by_mask`. `document` is its own. From row to
// row no end of its run ever falls.
constexpr RowSpans row_spans(const SequenceSpans& spans, int64_t kv_rows, int64_t position, Range document,
                             Range by_mask) {
  const int64_t padding = std::clamp<int64_t>(spans.left_padding, 0, kv_rows);
  const int64_t first = std::max(document.begin, padding);
  int64_t begin = std::max(first, by_mask.begin);
  int64_t end = std::max(by_mask.end, std::min(spans.prefix, kv_rows));
  if (spans.chunk > 0) {
    // Rows before the first key are in no chunk.
    const int64_t chunk_begin = position < 0 ? 0 : position / spans.chunk * spans.chunk;
    const int64_t chunk_keys =
        position < 0 ? 0 : std::min(spans.chunk, std::max<int64_t>(kv_rows - chunk_begin, 0));
    begin = std::max(begin, std::min(chunk_begin, kv_rows));
    end = std::min(end, chunk_begin + chunk_keys);
  }
  end = std::min(end, document.end);
  const int64_t first_end = std::min(first + std::min(spans.first_keys, kv_rows - first), end);
  const bool meet = first_end >= begin;
  if (meet) begin = first;
  return {.run = {static_cast<int32_t>(begin), static_cast<int32_t>(std::max(begin, end))},
          .first_keys = {static_cast<int32_t>(first),
                         static_cast<int32_t>(meet ? first : std::max(first, first_end))}};
}

// The document at `position`: neighbours with the same number. Positions without a key have an empty one.
inline Range document_at(const int32_t* documents, int64_t kv_rows, int64_t position) {
  if (documents == nullptr) return {0, kv_rows};
  if (position < 0) return {0, 0};
  if (position >= kv_rows) return {kv_rows, kv_rows};
  Range found{position, position + 1};
  while (found.begin > 0 && documents[found.begin - 1] == documents[position]) --found.begin;
  while (found.end < kv_rows && documents[found.end] == documents[position]) ++found.end;
  return found;
}

// visit(row, spans) for each row of a sequence, whose problem is by mask and window; spans lie in host
// memory.
template <class Visit>
void each_row_spans(const ForwardProblem& by_mask, const SequenceSpans& spans, const Visit& visit) {
  Range document{};
  for (int64_t row = 0; row < by_mask.q_rows; ++row) {
    const int64_t position = row + by_mask.first_position();
    if (row == 0 || position >= document.end)
      document = document_at(spans.documents, by_mask.kv_rows, position);
    visit(row, row_spans(spans, by_mask.kv_rows, position, document, by_mask.visible(row)));
  }
}

}  // namespace flashmoe
