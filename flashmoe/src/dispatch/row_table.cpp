// SPDX-License-Identifier: MIT
#include "dispatch/row_table.h"

#include "dispatch/pieces.h"
#include "dispatch/runs.h"
#include "numeric/ceil_div.h"

namespace flashmoe::dispatch {
namespace {

int64_t padded(int64_t count) { return ceil_div(count, int64_t{kernels::kTableTile}) * kernels::kTableTile; }

int64_t entries(const ForwardProblem& p) { return p.spans.per_entry ? p.batch : 1; }

void place(const ForwardProblem& p, bool backward, Pieces& pieces, kernels::prepare_runs::Params& params) {
  const int64_t rows = entries(p) * padded(p.q_rows), keys = entries(p) * padded(p.kv_rows);
  params.rows = pieces.take<kernels::Run>(rows);
  if (p.spans.first_keys > 0) params.first_keys = pieces.take<kernels::Run>(rows);
  params.tiles = pieces.take<kernels::TileRuns>(rows / kernels::kTableTile);
  if (!backward) return;
  params.keys = pieces.take<kernels::Run>(keys);
  params.key_tiles = pieces.take<kernels::TileRows>(keys / kernels::kTableTile);
}

// Of k: packed sequences are one entry.
int64_t key_entries(const ForwardProblem& p) { return p.lengths.k_packed ? 1 : p.lengths.sequences; }

void place(const ForwardProblem& p, bool backward, Pieces& pieces,
           kernels::prepare_runs::SequenceParams& params) {
  params.document_entries = static_cast<int>(p.spans.per_entry ? key_entries(p) : 1);
  if (p.spans.documents)
    params.key_documents = pieces.take<kernels::Run>(params.document_entries * p.kv_rows);
  params.rows = pieces.take<kernels::Run>(p.batch * p.q_rows);
  if (p.spans.first_keys > 0) params.first_keys = pieces.take<kernels::Run>(p.batch * p.q_rows);
  if (backward) params.keys = pieces.take<kernels::Run>(key_entries(p) * p.kv_rows);
}

template <class Params>
void set_spans(Params& params, const Spans& spans) {
  params.documents = spans.documents;
  params.documents_stride = spans.documents_stride;
  params.prefix = spans.prefix;
  params.left_padding = spans.left_padding;
  params.chunk = spans.chunk;
  params.num_first_keys = spans.first_keys;
}

}  // namespace

std::size_t row_table_bytes(const ForwardProblem& p, bool backward) {
  if (!p.spans.given()) return 0;
  Pieces pieces{nullptr};
  if (p.lengths.given) {
    kernels::prepare_runs::SequenceParams params{};
    place(p, backward, pieces, params);
    return pieces.used;
  }
  kernels::prepare_runs::Params params{};
  place(p, backward, pieces, params);
  return pieces.used;
}

std::size_t with_row_table(std::size_t bytes, const ForwardProblem& p, bool backward) {
  const std::size_t table = row_table_bytes(p, backward);
  if (table == 0) return bytes;
  return ceil_div(bytes, kWorkspaceAlignment) * kWorkspaceAlignment + table;
}

kernels::prepare_runs::Params row_table_params(const ForwardProblem& p, const Spans& spans, bool backward,
                                               Workspace workspace) {
  kernels::prepare_runs::Params params{};
  params.entries = static_cast<int>(entries(p));
  params.q_rows = static_cast<int>(p.q_rows);
  params.kv_rows = static_cast<int>(p.kv_rows);
  params.first_position = static_cast<int>(p.first_position());
  params.by_mask = runs_of(p);
  set_spans(params, spans);
  params.padded_rows = static_cast<int>(padded(p.q_rows));
  params.padded_keys = static_cast<int>(padded(p.kv_rows));
  Pieces pieces{static_cast<std::byte*>(workspace.data) + workspace.bytes - row_table_bytes(p, backward)};
  place(p, backward, pieces, params);
  return params;
}

kernels::prepare_runs::SequenceParams sequence_table_params(const ForwardProblem& p, const Spans& spans,
                                                            const kernels::prepare_lengths::Params& lengths,
                                                            bool backward, Workspace workspace) {
  kernels::prepare_runs::SequenceParams params{};
  params.q = lengths.q;
  params.k = lengths.k;
  params.sequences = lengths.sequences;
  params.rule = lengths.rule;
  set_spans(params, spans);
  Pieces pieces{static_cast<std::byte*>(workspace.data) + workspace.bytes - row_table_bytes(p, backward)};
  place(p, backward, pieces, params);
  return params;
}

kernels::RowTable row_table(const ForwardProblem& p, const kernels::prepare_runs::SequenceParams& params) {
  return {.rows = params.rows,
          .first_keys = params.first_keys,
          .keys = params.keys,
          .padded_rows = static_cast<int>(p.lengths.q_packed ? 1 : p.q_rows),
          .padded_keys = static_cast<int>(p.lengths.k_packed ? 1 : p.kv_rows),
          .per_entry = true};
}

kernels::RowTable row_table(const ForwardProblem& p, const kernels::prepare_runs::Params& params) {
  return {.rows = params.rows,
          .first_keys = params.first_keys,
          .tiles = params.tiles,
          .keys = params.keys,
          .key_tiles = params.key_tiles,
          .padded_rows = params.padded_rows,
          .padded_keys = params.padded_keys,
          .per_entry = p.spans.per_entry};
}

}  // namespace flashmoe::dispatch
