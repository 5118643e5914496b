// SPDX-License-Identifier: MIT
// The configurations of small_forward. Every field changes speed and reach, never results.
#pragma once

#include <iterator>
#include <type_traits>

#include "kernels/small_forward/params.h"

namespace flashmoe::kernels::small {

inline constexpr int kRows = 8;  // query rows of a CTA: the width of one matrix instruction

struct Tuning {
  int head_dim;       // the largest D it takes: 64 or 128; smaller ones are padded with zeros on the way in
  int warps;          // of a CTA; they share the keys
  int keys_per_warp;  // multiple of 16

  constexpr int threads() const { return 32 * warps; }
  constexpr int max_keys() const { return warps * keys_per_warp; }
  constexpr int chunks() const { return head_dim / 8; }  // 16-byte pieces of a row
  // K and V of every key, Q for each warp, and one maximum and sum per row and warp.
  constexpr int smem_bytes() const {
    return max_keys() * head_dim * 4 + warps * kRows * head_dim * 2 + kRows * warps * 8;
  }
};

// From small to large; the first that takes a problem is used. Four warps: with eight the merge costs more
// than the shorter chains save, with two the chains are too long (NOTES.md).
inline constexpr Tuning kTunings[] = {
    {.head_dim = 64, .warps = 2, .keys_per_warp = 16},  {.head_dim = 64, .warps = 4, .keys_per_warp = 16},
    {.head_dim = 64, .warps = 4, .keys_per_warp = 32},  {.head_dim = 64, .warps = 4, .keys_per_warp = 64},
    {.head_dim = 64, .warps = 4, .keys_per_warp = 128}, {.head_dim = 128, .warps = 4, .keys_per_warp = 16},
    {.head_dim = 128, .warps = 4, .keys_per_warp = 32}, {.head_dim = 128, .warps = 4, .keys_per_warp = 64},
};

inline constexpr int kMaxKeys = 512;  // of any configuration

// The index of the first configuration that takes the problem within `smem_limit` bytes a block, or -1.
constexpr int find_tuning(int head_dim, int kv_rows, int smem_limit) {
  for (int i = 0; i < static_cast<int>(std::size(kTunings)); ++i) {
    const Tuning& t = kTunings[i];
    if (head_dim <= t.head_dim && kv_rows <= t.max_keys() && t.smem_bytes() <= smem_limit) return i;
  }
  return -1;
}

// The kernel's only template argument. kPlain is for problems that fill a configuration exactly, unmasked,
// without groups, in dense [B, H, S, D]: no bound to look at, and addresses that need hardly any arithmetic.
// Every one of the instructions that this saves is latency, since a scheduler has a single warp.
template <class T, int kIndex, bool kPlain>
struct Spec {
  using Element = T;
  static constexpr Tuning tuning = kTunings[kIndex];
  static constexpr bool plain = kPlain;
  using Params = std::conditional_t<kPlain, PlainParams<tuning.head_dim, tuning.max_keys()>, AnyParams>;
};

}  // namespace flashmoe::kernels::small
