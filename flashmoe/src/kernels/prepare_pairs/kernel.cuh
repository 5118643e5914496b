// SPDX-License-Identifier: MIT
// prepare_pairs: from a tensor, mask and window to a bit for every pair (pair_bits.h), before a kernel that
// reads them. A block has a strip of 64 lines, a warp 128 columns of it at a time, a lane four of those:
// votes turn them into words. pair_rows has query rows as lines and reads the tensor; pair_keys, for
// gradients, has keys as lines and reads the bits of the rows.
// Bound: memory, where the tensor differs from head to head; else votes, which are few beside the attention.
#pragma once

#include <type_traits>

#include "kernels/prepare_pairs/params.h"
#include "primitives/barrier.h"
#include "primitives/index.h"
#include "primitives/memory.h"
#include "primitives/shared.h"
#include "primitives/vote.h"

namespace flashmoe::kernels::prepare_pairs::inline FLASHMOE_TARGET {

inline constexpr uint32_t kFour = 0xF;  // a lane's columns, one bit each

// What a strip's lines have in each half of a block of columns: bits 0 and 1, whether any line has any; bits
// 2 and 3, whether all have all.
struct Smem {
  uint32_t notes[2][kWarps];  // of this round and the last
};

__device__ __forceinline__ int min_of(int x, int y) { return x < y ? x : y; }
__device__ __forceinline__ int max_of(int x, int y) { return x > y ? x : y; }

// Of a lane's columns, those before one that is counted from its first.
__device__ __forceinline__ uint32_t columns_before(int column) {
  return (1U << min_of(max_of(column, 0), 4)) - 1;
}

// A line's words, from what each lane has of it.
__device__ __forceinline__ PairWords words_of(uint32_t seen) {
  constexpr uint32_t kEven = 0x55555555;  // lanes with the first four of eight columns
  const uint32_t b0 = gpu::ballot((seen & 1) != 0), b1 = gpu::ballot((seen & 2) != 0);
  const uint32_t b2 = gpu::ballot((seen & 4) != 0), b3 = gpu::ballot((seen & 8) != 0);
  return {{(b0 & kEven) | (b1 & kEven) << 1, (b2 & kEven) | (b3 & kEven) << 1,
           (b0 >> 1 & kEven) | (b1 & ~kEven), (b2 >> 1 & kEven) | (b3 & ~kEven)}};
}

// A warp's columns of a strip, line by line.
struct Columns {
  int left;  // that there are, from the lane's first one on
  uint32_t any = 0, all = kFour;
  PairWords mine{};  // of the line whose number the lane has, of the last 32

  __device__ __forceinline__ void add(int line, bool exists, uint32_t seen) {
    const PairWords words = words_of(seen);
    if (line % 32 == gpu::lane_index()) mine = words;
    any |= seen;
    if (exists) all &= seen;
  }

  __device__ __forceinline__ uint32_t note() const {
    const uint32_t some = gpu::ballot(any != 0);
    const uint32_t full = gpu::ballot((all | ~columns_before(left)) == ~0U);
    const auto bit = [](bool of, int at) { return of ? 1U << at : 0U; };
    return bit((some & 0xFFFF) != 0, 0) | bit(some >> 16 != 0, 1) | bit((full & 0xFFFF) == 0xFFFF, 2) |
           bit(full >> 16 == 0xFFFF, 3);
  }
};

// What a whole strip has, from its first column to its last, in steps of 64: the hull of all that any line
// has, and the longest stretch that all have.
struct Strip {
  int begin = kNobody, end = 0;
  int full_begin = kNobody, full_end = 0;
  int since = kNobody;  // where the stretch at hand begins

  __device__ __forceinline__ void add(int half, int columns, bool any, bool all) {
    const int first = half * kTableTile, behind = min_of(first + kTableTile, columns);
    if (any) {
      begin = min_of(begin, first);
      end = behind;
    }
    if (!any || !all) {
      since = kNobody;
      return;
    }
    since = min_of(since, first);
    if (full_begin == kNobody || behind - since > full_end - full_begin) {
      full_begin = since;
      full_end = behind;
    }
  }
};

// Goes over all blocks of columns, of which `store(block)` writes the words and returns the note. Thread 0
// has what the strip has.
template <class Store>
__device__ __forceinline__ Strip walk(int columns, int blocks, const Store& store) {
  Smem& smem = gpu::shared<Smem>();
  const int warp = gpu::thread_index() / 32;
  Strip strip;
  int round = 0;
  for (int first = 0; first < blocks; first += kWarps, round ^= 1) {
    const uint32_t note = first + warp < blocks ? store(first + warp) : 0;
    if (gpu::lane_index() == 0) smem.notes[round][warp] = note;
    gpu::sync_block();
    if (gpu::thread_index() != 0) continue;
    for (int w = 0; w < kWarps; ++w) {
      const uint32_t of_block = smem.notes[round][w];
      const int half = 2 * (first + w);
      strip.add(half, columns, (of_block & 1) != 0, (of_block & 4) != 0);
      strip.add(half + 1, columns, (of_block & 2) != 0, (of_block & 8) != 0);
    }
  }
  return strip;
}

// Four elements in one register, or two.
template <class E>
using Four = std::conditional_t<sizeof(E) == 1, uint32_t, uint64_t>;

// Those of a row from `at` on; those of `wanted` count.
template <class E, bool kWords>
__device__ __forceinline__ Four<E> load_four(const PairParams& pairs, int64_t at, uint32_t wanted) {
  if (wanted == 0) return 0;
  const auto* data = static_cast<const E*>(pairs.data) + at;
  if constexpr (kWords) return gpu::load_global(reinterpret_cast<const Four<E>*>(data));
  Four<E> four = 0;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    if ((wanted >> j & 1) != 0)
      four |= static_cast<Four<E>>(gpu::load_global(data + j * pairs.key_stride)) << 8 * sizeof(E) * j;
  }
  return four;
}

// Which of them count, one bit each.
template <class E>
__device__ __forceinline__ uint32_t shown(Four<E> four, uint32_t hidden) {
  uint32_t bits = 0;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    if (static_cast<E>(four >> 8 * sizeof(E) * j) != hidden) bits |= 1U << j;
  }
  return bits;
}

template <class E, bool kWords>
__global__ void __launch_bounds__(kThreads) pair_rows(const __grid_constant__ Params p) {
  const PairParams& pairs = p.pairs;
  const int strips = p.padded_rows / kTableTile, blocks = p.padded_keys / kBitColumns;
  const int entry = static_cast<int>(gpu::block_index()) / strips;
  const int strip = static_cast<int>(gpu::block_index()) - entry * strips;
  const int first_row = strip * kTableTile;
  const int lane = gpu::lane_index();
  const int64_t of_head = entry / p.heads * pairs.batch_stride + entry % p.heads * pairs.head_stride;
  PairWords* words = p.by_row + (int64_t{entry} * p.padded_rows + first_row) * blocks;

  const Strip found = walk(pairs.kv_rows, blocks, [&](int block) {
    const int first_key = block * kBitColumns + 4 * lane;
    Columns columns{.left = pairs.kv_rows - first_key};
#pragma unroll 1
    for (int line = 0; line < kTableTile; line += kLook) {
      Four<E> four[kLook];
      uint32_t wanted[kLook];
#pragma unroll
      for (int i = 0; i < kLook; ++i) {
        const int row = first_row + line + i;
        const Run run = p.by_mask.visible(row, pairs.q_rows, pairs.kv_rows);
        wanted[i] = row < pairs.q_rows
                        ? columns_before(run.end - first_key) & ~columns_before(run.begin - first_key)
                        : 0;
        four[i] = load_four<E, kWords>(pairs, of_head + row * pairs.row_stride + first_key * pairs.key_stride,
                                       wanted[i]);
      }
#pragma unroll
      for (int i = 0; i < kLook; ++i)
        columns.add(line + i, first_row + line + i < pairs.q_rows, shown<E>(four[i], p.hidden) & wanted[i]);
      if ((line + kLook) % 32 == 0 && p.by_row != nullptr)
        gpu::store_global(words + int64_t{line + kLook - 32 + lane} * blocks + block, columns.mine);
    }
    return columns.note();
  });
  if (gpu::thread_index() != 0) return;
  gpu::store_global(p.tiles + int64_t{entry} * strips + strip, TileRuns{.min_begin = found.begin,
                                                                        .max_begin = found.full_begin,
                                                                        .min_end = found.full_end,
                                                                        .max_end = found.end});
}

static __global__ void __launch_bounds__(kThreads) pair_keys(const __grid_constant__ Params p) {
  const PairParams& pairs = p.pairs;
  const int strips = p.padded_keys / kTableTile, blocks = p.padded_rows / kBitColumns;
  const int entry = static_cast<int>(gpu::block_index()) / strips;
  const int strip = static_cast<int>(gpu::block_index()) - entry * strips;
  const int first_key = strip * kTableTile;
  const int lane = gpu::lane_index();
  const int key_blocks = p.padded_keys / kBitColumns;
  const PairWords* rows = p.by_row + int64_t{entry} * p.padded_rows * key_blocks + first_key / kBitColumns;
  PairWords* words = p.by_key + (int64_t{entry} * p.padded_keys + first_key) * blocks;

  const Strip found = walk(pairs.q_rows, blocks, [&](int block) {
    const int first_row = block * kBitColumns + 4 * lane;
    Columns columns{.left = pairs.q_rows - first_row};
    PairWords four[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      four[j] = gpu::load_global(rows + int64_t{first_row + j} * key_blocks);
#pragma unroll
      for (uint32_t& word : four[j].of_lane) word >>= strip % 2 * 16;
    }
#pragma unroll 1
    for (int line = 0; line < kTableTile; line += 8) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        uint32_t seen = 0;
#pragma unroll
        for (int j = 0; j < 4; ++j) seen |= (four[j].of_lane[i / 2] >> (line / 4 + i % 2) & 1) << j;
        columns.add(line + i, first_key + line + i < pairs.kv_rows, seen);
      }
      if ((line + 8) % 32 == 0)
        gpu::store_global(words + int64_t{line + 8 - 32 + lane} * blocks + block, columns.mine);
    }
    return columns.note();
  });
  if (gpu::thread_index() != 0) return;
  gpu::store_global(p.key_tiles + int64_t{entry} * strips + strip, TileRows{.begin = found.begin,
                                                                            .end = found.end,
                                                                            .full_begin = found.full_begin,
                                                                            .full_end = found.full_end});
}

}  // namespace flashmoe::kernels::prepare_pairs::inline FLASHMOE_TARGET
