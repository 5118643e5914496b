// SPDX-License-Identifier: MIT
// prepare_lengths: from where sequences start and how long they are to lists of their tiles
// (sequence_tiles.h), those with the most work first, of keys sequence by sequence; and zeros in the rows
// that none of them computes. Starts and lengths are the caller's, and nobody has looked at them: whatever
// they say, nothing outside of the tensors is touched, here or by who reads the lists. Roles: a block for
// each sequence and list, whose warps have a tile each: how many tiles go before it is a sum over all
// sequences, in each of which work only rises, or only falls, from tile to tile. Behind them blocks with a
// thread for each row, which looks for the row's sequence; its warp then clears rows without one. Bound:
// latency.
#pragma once

#include <cmath>

#include "kernels/prepare_lengths/places.cuh"
#include "primitives/index.h"
#include "primitives/memory.h"
#include "primitives/min_max.h"
#include "primitives/registers.h"
#include "primitives/shuffle.h"

namespace flashmoe::kernels::prepare_lengths::inline FLASHMOE_TARGET {

inline constexpr int kWarps = kThreads / 32;

__device__ __forceinline__ int sum_over_warp(int x) {
#pragma unroll
  for (int lanes = 1; lanes < 32; lanes *= 2)
    x += static_cast<int>(gpu::as_bits(gpu::shuffle_xor(gpu::as_float(static_cast<uint32_t>(x)), lanes)));
  return x;
}

// A sequence's tiles in one list.
struct Tiles {
  const List& list;
  Runs runs;
  int q_rows, k_rows;
  int count, first_row;  // first_row: of the first one

  __device__ Tiles(const Params& p, const List& of, int q, int k)
      : list(of), runs(p.rule.runs(q, k)), q_rows(q), k_rows(k) {
    const int rows = list.of_keys ? k : q;
    count = q == 0 || k == 0 ? 0 : (rows + list.tile_rows - 1) / list.tile_rows;
    first_row = list.from_end ? rows - count * list.tile_rows : 0;
  }

  // Rises from tile to tile, where they are of keys falls, and may be more than what there is.
  __device__ __forceinline__ int work(int tile) const {
    const int row = first_row + tile * list.tile_rows;
    const int all = list.of_keys
                        ? q_rows - between(row - runs.end + 1, 0, q_rows)
                        : runs.visible(gpu::min_of(row + list.tile_rows, q_rows) - 1, q_rows, k_rows).end;
    return gpu::min_of(all, list.most_work);
  }
  // Tiles with more work than that; of keys, where a sequence's stand together: all, if the first has.
  __device__ __forceinline__ int with_more(int least) const {
    if (list.of_keys) return count > 0 && work(0) > least ? count : 0;
    int low = 0, high = count;  // tiles before the first with more
    while (low < high) {
      const int middle = (low + high) / 2;
      if (work(middle) > least) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return count - low;
  }
};

// Writes the tiles of one sequence, each to its place in the list.
__device__ inline void list_tiles(const Params& p, const List& list, int sequence) {
  const int warp = gpu::thread_index() / 32, lane = gpu::thread_index() % 32;
  const Place q = place_of(p.q, sequence), k = place_of(p.k, sequence);
  const Tiles own(p, list, q.rows, k.rows);
  for (int tile = warp; tile < own.count; tile += kWarps) {
    const int work = own.work(list.of_keys ? 0 : tile);
    int before = 0;
    for (int other = lane; other < p.sequences; other += 32) {
      const Tiles tiles(p, list, place_of(p.q, other).rows, place_of(p.k, other).rows);
      before += tiles.with_more(other < sequence ? work - 1 : work);  // ties go by number
    }
    const int first_equal = list.of_keys ? 0 : own.count - own.with_more(work - 1);
    const int place = list.last_first ? own.count - 1 - tile : tile;
    const int at = sum_over_warp(before) + place - first_equal;
    if (lane == 0 && at < list.capacity) {
      gpu::store_global(list.tiles + at, SequenceTile{.q_place = q.place,
                                                      .q_rows = q.rows,
                                                      .k_place = k.place,
                                                      .k_rows = k.rows,
                                                      .first_row = own.first_row + tile * list.tile_rows,
                                                      .sequence = sequence});
    }
  }
}

// Behind the last tile of all sequences the list says that there are no more.
__device__ inline void end_list(const Params& p, const List& list) {
  int tiles = 0;
  for (int other = gpu::thread_index() % 32; other < p.sequences; other += 32)
    tiles += Tiles(p, list, place_of(p.q, other).rows, place_of(p.k, other).rows).count;
  for (int at = sum_over_warp(tiles) + gpu::thread_index(); at < list.capacity; at += kThreads)
    gpu::store_global(list.tiles + at, SequenceTile{0, 0, 0, 0, 0, kNoSequence});
}

enum class Fate { computed, sees_nothing, nobodys };

__device__ inline Fate fate_of(const Params& p, const Side& side, const Side& other, int batch, int row) {
  const int sequence = side.starts != nullptr ? sequence_at(side, p.sequences, row) : batch;
  if (sequence < 0 || sequence >= p.sequences) return Fate::nobodys;
  const Place own = place_of(side, sequence);
  const int in_sequence = side.starts != nullptr ? row - own.place : row;
  if (in_sequence >= own.rows) return Fate::nobodys;
  return place_of(other, sequence).rows == 0 ? Fate::sees_nothing : Fate::computed;
}

// Zeros in one row of all heads, by a warp.
template <class Bits>
__device__ void clear_row(const Params& p, const View& view, int heads, int batch, int row) {
  for (int head = 0; head < heads; ++head) {
    Bits* to = static_cast<Bits*>(view.data) + batch * view.batch_stride + head * view.head_stride +
               row * view.row_stride;
    for (int c = gpu::thread_index() % 32; c < p.head_dim; c += 32) gpu::store_global(to + c, Bits{0});
  }
}

__device__ inline void clear_rows(const Params& p, const Side& side, const Side& other,
                                  const Cleared& cleared, unsigned block) {
  const int per_batch = (side.rows + kThreads - 1) / kThreads;
  const int batch = static_cast<int>(block) / per_batch;
  const int first = (static_cast<int>(block) - batch * per_batch) * kThreads;
  const int own_row = first + gpu::thread_index();
  const Fate own =
      own_row < side.rows ? fate_of(p, side, other, batch, own_row) : Fate::computed;  // there is none
  const int lane = gpu::thread_index() % 32;
  for (int i = 0; i < 32; ++i) {
    const auto fate = static_cast<Fate>(static_cast<int>(gpu::shuffle(static_cast<float>(own), i)));
    if (fate == Fate::computed) continue;
    const int row = own_row - lane + i;
    for (int t = 0; t < cleared.num_tensors; ++t) {
      if (p.element_bytes == 2) {
        clear_row<uint16_t>(p, cleared.tensors[t], cleared.heads, batch, row);
      } else {
        clear_row<uint32_t>(p, cleared.tensors[t], cleared.heads, batch, row);
      }
    }
    if (cleared.lse == nullptr) continue;
    for (int head = lane; head < cleared.heads; head += 32) {
      const bool sink = fate == Fate::sees_nothing && cleared.sinks != nullptr;
      gpu::store_global(cleared.lse + (int64_t{batch} * cleared.heads + head) * side.rows + row,
                        sink ? gpu::load_global(cleared.sinks + head) : -INFINITY);
    }
  }
}

// Blocks of each part, in their order.
struct Parts {
  unsigned sequences, lists, q, k;
};
FLASHMOE_HD inline Parts parts_of(const Params& p) {
  const auto blocks = [](const Side& side, const Cleared& cleared) {
    return cleared.num_tensors == 0 ? 0U
                                    : static_cast<unsigned>((side.rows + kThreads - 1) / kThreads) *
                                          static_cast<unsigned>(side.batch);
  };
  const unsigned sequences = p.sequences > 0 ? static_cast<unsigned>(p.sequences) : 1U;
  return {sequences, sequences * static_cast<unsigned>(p.num_lists), blocks(p.q, p.of_q),
          blocks(p.k, p.of_k)};
}

static __global__ void __launch_bounds__(kThreads) prepare_lengths(const __grid_constant__ Params p) {
  const Parts parts = parts_of(p);
  unsigned block = gpu::block_index();
  if (block < parts.lists) {
    const unsigned which = block < parts.sequences ? 0 : 1;
    const auto sequence = static_cast<int>(block - which * parts.sequences);
    if (sequence < p.sequences) list_tiles(p, p.lists[which], sequence);
    if (sequence == 0) end_list(p, p.lists[which]);
    return;
  }
  block -= parts.lists;
  if (block < parts.q) return clear_rows(p, p.q, p.k, p.of_q, block);
  clear_rows(p, p.k, p.q, p.of_k, block - parts.q);
}

}  // namespace flashmoe::kernels::prepare_lengths::inline FLASHMOE_TARGET
