// SPDX-License-Identifier: MIT
// prepare_runs: from masks by name to what each query row sees (row_table.h), before a kernel that reads it.
// find_rows has a thread for each row. Documents begin where the number changes: within a block a scan finds
// where each row's begins and ends, and where one goes on beyond the block, all threads look for its end
// together. find_keys, for gradients, has a thread for each key: both ends of the rows' runs never fall, so
// the rows that see a key are found by halving. Bound: latency; both read and write a few bytes per row and
// key.
#pragma once

#include "kernels/prepare_runs/params.h"
#include "primitives/barrier.h"
#include "primitives/index.h"
#include "primitives/memory.h"
#include "primitives/min_max.h"
#include "primitives/registers.h"
#include "primitives/shared.h"
#include "primitives/shuffle.h"
#include "problem/row_runs.h"

namespace flashmoe::kernels::prepare_runs::inline FLASHMOE_TARGET {

struct Smem {
  int begins[kRowThreads];   // of the last document that begins at a thread's position or before it, in the
                             // block
  int ends[kRowThreads];     // of the first that begins behind it; kNobody: none in the block
  int nearest[kRowThreads];  // what a thread finds outside of the block
  TileRuns warps[kRowThreads / 32];
};

__device__ __forceinline__ bool begins_document(const int32_t* ids, int key) {
  return key == 0 || gpu::load_global(ids + key) != gpu::load_global(ids + key - 1);
}

// The nearest place before key `from` where a document begins; there is one. All threads take part.
__device__ inline int look_back(Smem& smem, const int32_t* ids, int from) {
  const int thread = gpu::thread_index();
  for (int end = from; end > 0; end -= kLook * kRowThreads) {
    int found = -1;
#pragma unroll
    for (int i = kLook - 1; i >= 0; --i) {
      const int key = end - 1 - thread - i * kRowThreads;
      if (key >= 0 && begins_document(ids, key)) found = key;
    }
    smem.nearest[thread] = found;
    for (int step = kRowThreads / 2; step > 0; step /= 2) {
      gpu::sync_block();
      if (thread < step)
        smem.nearest[thread] = gpu::max_of(smem.nearest[thread], smem.nearest[thread + step]);
    }
    gpu::sync_block();
    found = smem.nearest[0];
    gpu::sync_block();
    if (found >= 0) return found;
  }
  return 0;
}

// The nearest place from key `from` on where a document begins, or the end of the keys.
__device__ inline int look_ahead(Smem& smem, const int32_t* ids, int from, int keys) {
  const int thread = gpu::thread_index();
  for (int begin = from; begin < keys; begin += kLook * kRowThreads) {
    int found = keys;
#pragma unroll
    for (int i = kLook - 1; i >= 0; --i) {
      const int key = begin + thread + i * kRowThreads;
      if (key < keys && begins_document(ids, key)) found = key;
    }
    smem.nearest[thread] = found;
    for (int step = kRowThreads / 2; step > 0; step /= 2) {
      gpu::sync_block();
      if (thread < step)
        smem.nearest[thread] = gpu::min_of(smem.nearest[thread], smem.nearest[thread + step]);
    }
    gpu::sync_block();
    found = smem.nearest[0];
    gpu::sync_block();
    if (found < keys) return found;
  }
  return keys;
}

// The document of the row at `position`; the block's rows are `rows` neighbours from `first` on. Positions
// without a key have an empty one.
__device__ inline Range find_document(Smem& smem, const int32_t* ids, int first, int rows, int keys) {
  const int thread = gpu::thread_index();
  const int position = first + gpu::min_of(thread, rows - 1);
  const int begin = gpu::max_of(first, 0), end = gpu::min_of(first + rows, keys);  // positions with a key
  const bool changes = thread < rows && position >= 0 && position < keys && begins_document(ids, position);
  smem.begins[thread] = changes ? position : -1;
  smem.ends[thread] = changes ? position : kNobody;
  // Each step doubles the threads that a thread knows of: itself and those before, or behind.
  for (int step = 1; step < kRowThreads; step *= 2) {
    gpu::sync_block();
    const int before = thread >= step ? smem.begins[thread - step] : -1;
    const int behind = thread + step < kRowThreads ? smem.ends[thread + step] : kNobody;
    gpu::sync_block();
    smem.begins[thread] = gpu::max_of(smem.begins[thread], before);
    smem.ends[thread] = gpu::min_of(smem.ends[thread], behind);
  }
  gpu::sync_block();
  Range found{position < 0 ? 0 : keys, position < 0 ? 0 : keys};
  if (begin >= end) return found;
  const int before = smem.begins[begin - first] < 0 ? look_back(smem, ids, begin) : 0;
  const int behind = look_ahead(smem, ids, end, keys);
  if (position < 0 || position >= keys) return found;
  const int own_begin = smem.begins[thread];
  const int own_end = thread + 1 < kRowThreads ? smem.ends[thread + 1] : kNobody;
  return {own_begin < 0 ? before : own_begin, own_end == kNobody ? behind : own_end};
}

__device__ __forceinline__ int from_lane(int value, int lane_mask) {
  return static_cast<int>(
      gpu::as_bits(gpu::shuffle_xor(gpu::as_float(static_cast<uint32_t>(value)), lane_mask)));
}

__device__ __forceinline__ TileRuns together(const TileRuns& a, const TileRuns& b) {
  return {gpu::min_of(a.min_begin, b.min_begin), gpu::max_of(a.max_begin, b.max_begin),
          gpu::min_of(a.min_end, b.min_end), gpu::max_of(a.max_end, b.max_end)};
}

// What a row adds to its tile's entry.
__device__ inline TileRuns entry_of(const RowSpans& seen) {
  const RowRun& run = seen.run;
  const RowRun& first = seen.first_keys;
  const bool sees_run = run.begin < run.end, sees_first = first.begin < first.end;
  return {.min_begin = sees_first ? first.begin
                       : sees_run ? run.begin
                                  : kNobody,
          .max_begin = sees_run ? run.begin : kNobody,
          .min_end = sees_run ? run.end : 0,
          .max_end = sees_run     ? run.end
                     : sees_first ? first.end
                                  : 0};
}

// The entries of the block's tiles of 64 rows, each of which two warps have.
__device__ inline void store_tiles(const Params& p, Smem& smem, int64_t entry, int first_row, TileRuns own) {
  const int thread = gpu::thread_index();
#pragma unroll
  for (int lanes = 1; lanes < 32; lanes *= 2) {
    own = together(own, {from_lane(own.min_begin, lanes), from_lane(own.max_begin, lanes),
                         from_lane(own.min_end, lanes), from_lane(own.max_end, lanes)});
  }
  if (thread % 32 == 0) smem.warps[thread / 32] = own;
  gpu::sync_block();
  const int tile = (first_row + thread) / kTableTile;
  if (thread % kTableTile != 0 || tile >= p.padded_rows / kTableTile) return;
  gpu::store_global(p.tiles + entry * (p.padded_rows / kTableTile) + tile,
                    together(own, smem.warps[thread / 32 + 1]));
}

static __global__ void __launch_bounds__(kRowThreads) find_rows(const __grid_constant__ Params p) {
  Smem& smem = gpu::shared<Smem>();
  const int blocks = (p.padded_rows + kRowThreads - 1) / kRowThreads;  // per entry
  const int64_t entry = static_cast<int>(gpu::block_index()) / blocks;
  const int first_row =
      (static_cast<int>(gpu::block_index()) - static_cast<int>(entry) * blocks) * kRowThreads;
  const int thread = gpu::thread_index();
  SequenceSpans spans{.chunk = p.chunk, .first_keys = p.num_first_keys};
  if (p.documents != nullptr) spans.documents = p.documents + entry * p.documents_stride;
  if (p.prefix != nullptr) spans.prefix = gpu::load_global(p.prefix + entry);
  if (p.left_padding != nullptr) spans.left_padding = gpu::load_global(p.left_padding + entry);

  // Rows past the last one are as that.
  const int rows = gpu::min_of(kRowThreads, p.q_rows - first_row);
  const int row = first_row + gpu::min_of(thread, rows - 1);
  Range document{0, p.kv_rows};
  if (spans.documents != nullptr)
    document = find_document(smem, spans.documents, first_row + p.first_position, rows, p.kv_rows);
  const Run by_mask = p.by_mask.visible(row, p.q_rows, p.kv_rows);
  const RowSpans seen =
      row_spans(spans, p.kv_rows, row + p.first_position, document, {by_mask.begin, by_mask.end});
  if (first_row + thread < p.padded_rows) {
    const int64_t at = entry * p.padded_rows + first_row + thread;
    gpu::store_global(p.rows + at, Run{seen.run.begin, seen.run.end});
    if (p.first_keys != nullptr)
      gpu::store_global(p.first_keys + at, Run{seen.first_keys.begin, seen.first_keys.end});
  }
  store_tiles(p, smem, entry, first_row, entry_of(seen));
}

// The first row for which is_behind(run) holds, which does for all rows from there on; q_rows for none.
// Several of them go through their halves side by side.
struct Search {
  int low, high;

  template <class Behind>
  __device__ __forceinline__ void step(const Run* runs, const Behind& is_behind) {
    if (low >= high) return;
    const int middle = (low + high) / 2;
    if (is_behind(gpu::load_global(runs + middle))) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
};

static __global__ void __launch_bounds__(kKeyThreads) find_keys(const __grid_constant__ Params p) {
  const int blocks = (p.padded_keys + kKeyThreads - 1) / kKeyThreads;  // per entry
  const int64_t entry = static_cast<int>(gpu::block_index()) / blocks;
  const int key = (static_cast<int>(gpu::block_index()) - static_cast<int>(entry) * blocks) * kKeyThreads +
                  gpu::thread_index();
  if (key >= p.padded_keys) return;
  const bool of_tile = key % kTableTile == 0;
  const int behind = key + kTableTile;
  const int rows = key < p.kv_rows ? p.q_rows : 0;
  const int of_tile_rows = of_tile ? rows : 0;
  Search begin{0, rows}, end{0, rows}, tile_end{0, of_tile_rows}, full_begin{0, of_tile_rows};
  const Run* runs = p.rows + entry * p.padded_rows;
  for (int left = rows; left > 0; left /= 2) {
    begin.step(runs, [&](const Run& run) { return run.end > key; });
    end.step(runs, [&](const Run& run) { return run.begin > key; });
    tile_end.step(runs, [&](const Run& run) { return run.begin >= behind; });
    full_begin.step(runs, [&](const Run& run) { return run.end >= behind; });
  }
  gpu::store_global(p.keys + entry * p.padded_keys + key, Run{begin.low, end.low});
  if (!of_tile) return;
  gpu::store_global(p.key_tiles + entry * (p.padded_keys / kTableTile) + key / kTableTile,
                    TileRows{begin.low, tile_end.low, full_begin.low, end.low});
}

}  // namespace flashmoe::kernels::prepare_runs::inline FLASHMOE_TARGET
