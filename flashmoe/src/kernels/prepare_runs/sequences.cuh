// SPDX-License-Identifier: MIT
// The same table for sequences of different lengths, within each of which spans count. find_documents has a
// thread for each key of a tensor, whatever sequences lie there: a sequence has its part of a run of equal
// numbers. find_sequence_rows and find_sequence_keys have one for each row of q, and for each key, which
// looks for its sequence. Rows and keys of none are written too: whatever the lengths say, who reads the
// table finds runs inside of the tensors.
#pragma once

#include "kernels/prepare_lengths/places.cuh"
#include "kernels/prepare_runs/kernel.cuh"

namespace flashmoe::kernels::prepare_runs::inline FLASHMOE_TARGET {

// A row of a tensor as one of a sequence.
struct OwnRow {
  int sequence;  // kNoSequence: it is nobody's
  int row;
};

__device__ inline OwnRow own_row(const prepare_lengths::Side& side, int sequences, int64_t at) {
  const auto batch = static_cast<int>(at / side.rows);
  const auto row = static_cast<int>(at - int64_t{batch} * side.rows);
  const bool packed = side.starts != nullptr;
  const int sequence = packed ? prepare_lengths::sequence_at(side, sequences, row) : batch;
  if (sequence < 0 || sequence >= sequences) return {kNoSequence, 0};
  const prepare_lengths::Place own = prepare_lengths::place_of(side, sequence);
  const int in_sequence = packed ? row - own.place : row;
  if (in_sequence < 0 || in_sequence >= own.rows) return {kNoSequence, 0};
  return {sequence, in_sequence};
}

// The row, or key, of a thread.
__device__ __forceinline__ int64_t index_in_grid() {
  return int64_t{gpu::block_index()} * kSequenceThreads + gpu::thread_index();
}

static __global__ void __launch_bounds__(kRowThreads)
    find_documents(const __grid_constant__ SequenceParams p) {
  Smem& smem = gpu::shared<Smem>();
  const int blocks = (p.k.rows + kRowThreads - 1) / kRowThreads;  // per entry
  const int64_t entry = static_cast<int>(gpu::block_index()) / blocks;
  const int first = (static_cast<int>(gpu::block_index()) - static_cast<int>(entry) * blocks) * kRowThreads;
  const int keys = gpu::min_of(kRowThreads, p.k.rows - first);
  const Range own = find_document(smem, p.documents + entry * p.documents_stride, first, keys, p.k.rows);
  if (gpu::thread_index() >= keys) return;
  gpu::store_global(p.key_documents + entry * p.k.rows + first + gpu::thread_index(),
                    Run{static_cast<int>(own.begin), static_cast<int>(own.end)});
}

// Of the row at `position` of a sequence with these keys; it may reach into the sequences beside.
__device__ inline Range document_in_sequence(const SequenceParams& p, const prepare_lengths::Place& keys,
                                             int position) {
  if (p.documents == nullptr) return {0, keys.rows};
  if (position < 0) return {0, 0};
  if (position >= keys.rows) return {keys.rows, keys.rows};
  const bool packed = p.k.starts != nullptr;
  const int first = packed ? keys.place : 0;
  const int64_t entry = packed || p.document_entries == 1 ? 0 : keys.place;
  const Run found = gpu::load_global(p.key_documents + entry * p.k.rows + first + position);
  return {found.begin - first, found.end - first};
}

static __global__ void __launch_bounds__(kSequenceThreads)
    find_sequence_rows(const __grid_constant__ SequenceParams p) {
  const int64_t at = index_in_grid();
  if (at >= int64_t{p.q.batch} * p.q.rows) return;
  RowSpans seen{};
  const OwnRow own = own_row(p.q, p.sequences, at);
  if (own.sequence != kNoSequence) {
    const int rows = prepare_lengths::place_of(p.q, own.sequence).rows;
    const prepare_lengths::Place keys = prepare_lengths::place_of(p.k, own.sequence);
    SequenceSpans spans{.chunk = p.chunk, .first_keys = p.num_first_keys};
    if (p.prefix != nullptr) spans.prefix = gpu::load_global(p.prefix + own.sequence);
    if (p.left_padding != nullptr) spans.left_padding = gpu::load_global(p.left_padding + own.sequence);
    const int position = own.row + p.rule.first_position(rows, keys.rows);
    const Run by_mask = p.rule.runs(rows, keys.rows).visible(own.row, rows, keys.rows);
    seen = row_spans(spans, keys.rows, position, document_in_sequence(p, keys, position),
                     {by_mask.begin, by_mask.end});
  }
  gpu::store_global(p.rows + at, Run{seen.run.begin, seen.run.end});
  if (p.first_keys != nullptr)
    gpu::store_global(p.first_keys + at, Run{seen.first_keys.begin, seen.first_keys.end});
}

static __global__ void __launch_bounds__(kSequenceThreads)
    find_sequence_keys(const __grid_constant__ SequenceParams p) {
  const int64_t at = index_in_grid();
  if (at >= int64_t{p.k.batch} * p.k.rows) return;
  Search begin{0, 0}, end{0, 0};
  const OwnRow own = own_row(p.k, p.sequences, at);
  if (own.sequence != kNoSequence) {
    const prepare_lengths::Place rows = prepare_lengths::place_of(p.q, own.sequence);
    const Run* runs = p.rows + (p.q.starts != nullptr ? rows.place : int64_t{rows.place} * p.q.rows);
    begin.high = end.high = rows.rows;
    for (int left = rows.rows; left > 0; left /= 2) {
      begin.step(runs, [&](const Run& run) { return run.end > own.row; });
      end.step(runs, [&](const Run& run) { return run.begin > own.row; });
    }
  }
  gpu::store_global(p.keys + at, Run{begin.low, end.low});
}

}  // namespace flashmoe::kernels::prepare_runs::inline FLASHMOE_TARGET
