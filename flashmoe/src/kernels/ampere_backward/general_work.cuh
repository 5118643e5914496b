// SPDX-License-Identifier: MIT
// Which keys a block of the general form has, which query tiles it walks over, and what their rows see: by
// rule, by a table in memory, or by the rule of one of many sequences.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/ampere_backward/smem.h"
#include "kernels/ampere_backward/work.cuh"
#include "kernels/load_first_keys.h"
#include "primitives/memory.h"

namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET {

__device__ __forceinline__ int cut_row(int64_t row, int rows) {
  return static_cast<int>(row < 0 ? 0 : row < rows ? row : rows);
}

// The rows that see any of the keys up to `last`, and those that see all of them. Where lengths are not what
// they should be, a table may know of rows that are another's.
__device__ inline TileRows rows_that_see(const GeneralParams& p, const Place& place, int last) {
  if (p.table.given()) {
    const auto sees = [&](int key) {
      const Run run = load_key(p.table, place.k_entry, key);
      return Run{cut_row(run.begin, place.q_rows), cut_row(run.end, place.q_rows)};
    };
    const Run first_key = sees(place.first_key);
    const Run last_key = sees(last);
    return {first_key.begin, last_key.end, last_key.begin, first_key.end};
  }
  const auto sees = [&](int key) {  // rows from .. on, before ..
    return Run{cut_row(int64_t{key} - place.runs.end + 1, place.q_rows),
               cut_row(int64_t{key} - place.runs.begin + 1, place.q_rows)};
  };
  return {sees(place.first_key).begin, sees(last).end, sees(last).begin, sees(place.first_key).end};
}

// First keys: the key before which a row sees none of them.
__device__ __forceinline__ int first_of(const GeneralParams& p, const Place& place, int row) {
  const int there = row < place.q_rows ? row : place.q_rows - 1;
  return load_first_keys(p.table, place.q_entry, there).begin;
}

// The end of the query tiles where rows see first keys too, which come behind those that see the keys in a
// run. Whoever sees a key as one of the first is in the document that began with it, as all rows between are.
template <class Spec>
__device__ int end_of_first_keys(const GeneralParams& p, const Place& place) {
  const int tiles = (place.q_rows + Spec::tile_q - 1) / Spec::tile_q;
  int low = place.end, high = tiles;
  const int last_row = (low + 1) * Spec::tile_q - 1;
  if (low == tiles || int64_t{first_of(p, place, last_row)} + p.num_first_keys <= place.first_key) return low;
  while (low < high) {  // the first tile none of whose rows does
    const int middle = (low + high) / 2;
    if (first_of(p, place, middle * Spec::tile_q) >= place.first_key + Spec::tile_kv) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

template <class Spec>
__device__ void find_place(Place& place, const GeneralParams& p, uint32_t number) {
  const TileOrder::Tile tile = p.order.tile(number);
  place.kv_head = tile.head;
  if (p.sequences.tiles != nullptr) {
    const SequenceTile own = gpu::load_global(p.sequences.tiles + tile.q_tile);
    place.entry = own.sequence;
    if (own.sequence == kNoSequence) return;
    place.q_entry = own.q_place;
    place.k_entry = own.k_place;
    place.first_key = own.first_row;
    place.q_rows = own.q_rows;
    place.kv_rows = own.k_rows;
    place.first_position = p.sequences.rule.first_position(own.q_rows, own.k_rows);
    place.runs = p.sequences.rule.runs(own.q_rows, own.k_rows);
    place.first_padded = p.padded.begin(own.sequence, own.q_place);
  } else {
    place.entry = place.q_entry = place.k_entry = tile.batch;
    place.first_key = tile.q_tile * Spec::tile_kv;
    place.q_rows = p.q_rows;
    place.kv_rows = p.kv_rows;
    place.first_position = p.scores.first_position;
    place.runs = p.runs;
    place.first_padded = int64_t{tile.batch} * p.q_heads * p.padded_rows;
  }
  const int keys_left = place.kv_rows - place.first_key;
  const bool whole = keys_left >= Spec::tile_kv;
  const TileRows rows = rows_that_see(p, place, place.first_key + (whole ? Spec::tile_kv : keys_left) - 1);
  // Rows that see nothing between two that do count too: in order, all tiles of keys between the first and
  // the last that a tile of queries sees take their turns.
  place.begin = rows.begin / Spec::tile_q;
  place.end = rows.begin < place.q_rows ? (rows.end + Spec::tile_q - 1) / Spec::tile_q : place.begin;
  if (place.end < place.begin) place.end = place.begin;
  place.full_begin = (rows.full_begin + Spec::tile_q - 1) / Spec::tile_q;
  place.full_end = !whole ? 0 : rows.full_end < place.q_rows ? rows.full_end / Spec::tile_q : place.end;
  if (p.table.first_keys != nullptr) place.end = end_of_first_keys<Spec>(p, place);
}

// What a query row sees.
struct SeenKeys {
  Run run, first;

  __device__ __forceinline__ bool has(int key) const {
    return (key >= run.begin && key < run.end) || (key >= first.begin && key < first.end);
  }
};

// As Work, from what a block found out about itself.
template <class Spec>
struct GeneralWork {
  const Place& place;
  int kv_head;
  int first_key;

  __device__ __forceinline__ explicit GeneralWork(const Place& own)
      : place(own), kv_head(own.kv_head), first_key(own.first_key) {}

  __device__ __forceinline__ int entry() const { return place.entry; }
  __device__ __forceinline__ int q_entry() const { return place.q_entry; }
  __device__ __forceinline__ int k_entry() const { return place.k_entry; }
  __device__ __forceinline__ int q_rows(const GeneralParams&) const { return place.q_rows; }
  __device__ __forceinline__ int kv_rows(const GeneralParams&) const { return place.kv_rows; }
  __device__ __forceinline__ int first_position() const { return place.first_position; }

  __device__ __forceinline__ int begin(const GeneralParams&) const { return place.begin; }
  __device__ __forceinline__ int end(const GeneralParams&) const { return place.end; }
  __device__ __forceinline__ bool is_masked(const GeneralParams&, int q_tile) const {
    return q_tile < place.full_begin || q_tile >= place.full_end;
  }

  __device__ __forceinline__ Step first(const GeneralParams& p) const {
    return {kv_head * p.group, place.begin};
  }
  __device__ __forceinline__ Step next(const GeneralParams&, const Step& step) const {
    return step.q_tile + 1 < place.end ? Step{step.head, step.q_tile + 1} : Step{step.head + 1, place.begin};
  }
  __device__ __forceinline__ bool is_there(const GeneralParams& p, const Step& step) const {
    return step.head < (kv_head + 1) * p.group;
  }

  __device__ __forceinline__ int64_t padded_row(const GeneralParams& p, const Step& step) const {
    return place.first_padded + int64_t{step.head} * p.padded_rows + step.q_tile * Spec::tile_q;
  }

  // Rows past the last one see what it sees.
  __device__ __forceinline__ SeenKeys seen(const GeneralParams& p, int row) const {
    if (!p.table.given()) return {place.runs.visible(row, place.q_rows, place.kv_rows), {0, 0}};
    const int there = row < place.q_rows ? row : place.q_rows - 1;
    SeenKeys keys{load_row(p.table, place.q_entry, there), {0, 0}};
    if (p.table.first_keys != nullptr) keys.first = load_first_keys(p.table, place.q_entry, there);
    return keys;
  }

  // Of batch entries, without first keys.
  __device__ __forceinline__ int turn(const GeneralParams& p, int q_tile) const {
    const int last_row = (q_tile + 1) * Spec::tile_q - 1;
    const int end = seen(p, last_row < place.q_rows ? last_row : place.q_rows - 1).run.end;
    return (end - 1) / Spec::tile_kv - first_key / Spec::tile_kv;
  }
};

template <class Spec>
using WorkOf = std::conditional_t<Spec::general, GeneralWork<Spec>, Work<Spec>>;

}  // namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET
