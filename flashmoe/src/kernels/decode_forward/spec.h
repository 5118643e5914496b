// SPDX-License-Identifier: MIT
// The configurations of decode_forward. Every field changes speed and reach, never results.
#pragma once

#include <cstdint>
#include <iterator>

#include "kernels/eight_rows.h"

namespace flashmoe::kernels::decode {

inline constexpr int kRows = kEightRows;  // packed query rows that it takes at most
inline constexpr int kChunkKeys = 16;     // keys that are copied, and multiplied, at once

struct Tuning {
  int head_dim;       // the largest D it takes: 64 or 128; smaller ones are padded with zeros on the way in
  int cluster;        // blocks that share a K/V head's keys and merge through each other's shared memory
  int warps;          // of a block; each has keys of its own
  int block_keys;     // keys whose scores a warp holds in registers at once; a multiple of 16
  int ring;           // chunks of K or V per warp that are in shared memory or on their way
  bool once;          // a warp never has more than block_keys keys: nothing to rescale
  int blocks_per_sm;  // that are to fit an SM: limits the registers

  constexpr int threads() const { return 32 * warps; }
  constexpr int chunks() const { return head_dim / 8; }   // 16-byte pieces of a row
  constexpr int steps() const { return block_keys / 8; }  // chunks of K, then of V, of a block of keys
  // From the first key of a warp's chunk to that of its next: the warps of a block take chunks in turn.
  constexpr int keys_to_next() const { return warps * kChunkKeys; }
  // Output columns, by four, that each block of a cluster merges.
  constexpr int slice() const { return head_dim / 4 / cluster; }
  constexpr int smem_bytes() const {
    const int ring_bytes = warps * ring * kChunkKeys * head_dim * 2;
    const int q_bytes = warps * kRows * head_dim * 2;
    const int stats_bytes = kRows * warps * 8;
    const int gathered_bytes = cluster == 1 ? 0 : kRows * head_dim * 4 + kRows * cluster * 8 + 16;
    return ring_bytes + q_bytes + stats_bytes + gathered_bytes;
  }
  constexpr bool is_sound() const {
    return head_dim % 64 == 0 && head_dim <= 128 && block_keys % kChunkKeys == 0 && ring >= 1 &&
           ring <= steps() && (once || steps() % ring == 0) && (head_dim / 4) % cluster == 0 &&
           cluster <= head_dim / 4;
  }
};

// Of rows that take a problem and have the cluster that dispatch wants, the first one is used.
// clang-format off
inline constexpr Tuning kTunings[] = {
    // One K/V head per cluster of eight: few heads, short latency.
    {.head_dim = 128, .cluster = 8, .warps = 4, .block_keys = 16, .ring = 2, .once = true, .blocks_per_sm = 1},
    {.head_dim = 128, .cluster = 8, .warps = 4, .block_keys = 32, .ring = 4, .once = true, .blocks_per_sm = 1},
    {.head_dim = 128, .cluster = 8, .warps = 4, .block_keys = 64, .ring = 4, .once = true, .blocks_per_sm = 1},
    {.head_dim = 128, .cluster = 8, .warps = 8, .block_keys = 64, .ring = 4, .once = true, .blocks_per_sm = 1},
    {.head_dim = 128, .cluster = 8, .warps = 8, .block_keys = 64, .ring = 4, .once = false, .blocks_per_sm = 1},
    {.head_dim = 128, .cluster = 4, .warps = 4, .block_keys = 64, .ring = 4, .once = false, .blocks_per_sm = 3},
    {.head_dim = 128, .cluster = 2, .warps = 4, .block_keys = 64, .ring = 4, .once = false, .blocks_per_sm = 3},
    // One K/V head per block, or its keys in splits.
    {.head_dim = 128, .cluster = 1, .warps = 4, .block_keys = 64, .ring = 4, .once = false, .blocks_per_sm = 3},
    // The same for rows of 64.
    {.head_dim = 64, .cluster = 8, .warps = 4, .block_keys = 32, .ring = 4, .once = true, .blocks_per_sm = 1},
    {.head_dim = 64, .cluster = 8, .warps = 8, .block_keys = 64, .ring = 8, .once = true, .blocks_per_sm = 1},
    {.head_dim = 64, .cluster = 8, .warps = 8, .block_keys = 64, .ring = 8, .once = false, .blocks_per_sm = 1},
    {.head_dim = 64, .cluster = 4, .warps = 4, .block_keys = 64, .ring = 8, .once = false, .blocks_per_sm = 3},
    {.head_dim = 64, .cluster = 2, .warps = 4, .block_keys = 64, .ring = 8, .once = false, .blocks_per_sm = 3},
    {.head_dim = 64, .cluster = 1, .warps = 4, .block_keys = 64, .ring = 8, .once = false, .blocks_per_sm = 3},
};
// clang-format on
inline constexpr int kNumTunings = static_cast<int>(std::size(kTunings));

constexpr bool all_are_sound() {
  for (const Tuning& t : kTunings) {
    if (!t.is_sound()) return false;
  }
  return true;
}
static_assert(all_are_sound());

// Keys that a warp gets when `keys` are shared by `splits` times this configuration's warps: whole chunks.
constexpr int64_t keys_per_warp(const Tuning& t, int64_t keys, int64_t splits) {
  const int64_t parts = splits * t.cluster * t.warps;
  const int64_t chunks = (keys + kChunkKeys - 1) / kChunkKeys;
  return (chunks + parts - 1) / parts * kChunkKeys;
}

// Whether it takes these keys in so many splits. Rows are padded no further than needed.
constexpr bool takes(const Tuning& t, int64_t head_dim, int64_t keys, int64_t splits) {
  return (head_dim <= 64 ? 64 : 128) == t.head_dim &&
         (!t.once || keys_per_warp(t, keys, splits) <= t.block_keys);
}

// The kernel's only template argument.
template <class T, int kIndex>
struct Spec {
  using Element = T;
  static constexpr Tuning tuning = kTunings[kIndex];
};

}  // namespace flashmoe::kernels::decode
