// SPDX-License-Identifier: MIT
#include "support/hidden_keys.h"

#include <cstdint>
#include <vector>

#include "problem/sequences.h"
#include "reference/spans.h"
#include "support/problem.h"

namespace flashmoe::test {
namespace {

bool any_row_sees(const ForwardProblem& p, const Spans& spans, int64_t key) {
  const reference::EntrySpans entry{.p = p, .spans = spans, .batch = 0};
  for (int64_t row = 0; row < p.q_rows; ++row) {
    const Range seen = p.visible(row);
    if (spans.given() ? entry.sees(row, key) : key >= seen.begin && key < seen.end) return true;
  }
  return false;
}

}  // namespace

void fill_hidden_keys(const ForwardProblem& problem, const ForwardArgs& args, float value) {
  const int64_t rows = args.k.sizes[2];
  // Batch entries may share K and V; then a row counts as hidden only if no entry sees it.
  const int64_t batches = args.k.strides[0] == 0 ? 1 : args.k.sizes[0];
  std::vector<char> seen(static_cast<std::size_t>(batches * rows), 0);
  const Sequences sequences(args.lengths, problem);
  for (int64_t i = 0; i < sequences.count(); ++i) {
    const Sequence sequence = sequences[i];
    const ForwardProblem alone = sequences.problem_of(sequence);
    const Spans spans = reference::spans_of(args.spans, sequence, i);
    const int64_t first = (batches == 1 ? 0 : sequence.k.batch * rows) + sequence.k.rows.begin;
    for (int64_t key = 0; key < sequence.k.rows.size(); ++key)
      if (any_row_sees(alone, spans, key)) seen[static_cast<std::size_t>(first + key)] = 1;
  }
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t row = 0; row < rows; ++row) {
      if (seen[static_cast<std::size_t>(b * rows + row)] != 0) continue;
      for (int64_t h = 0; h < args.k.sizes[1]; ++h) {
        Problem::set_row(args.k, b, h, row, value);
        Problem::set_row(args.v, b, h, row, value);
      }
    }
  }
}

}  // namespace flashmoe::test
