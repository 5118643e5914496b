// SPDX-License-Identifier: MIT
// Which forms of decode_forward its mutants are made of: blocks that merge through each other's shared
// memory, and blocks of their own whose shares combine_splits merges. Both walk over more keys than they hold
// at once.
#pragma once

#include "kernels/decode_forward/spec.h"

namespace flashmoe::test {

constexpr int decode_tuning(int head_dim, int cluster) {
  int index = 0;
  while (kernels::decode::kTunings[index].head_dim != head_dim ||
         kernels::decode::kTunings[index].cluster != cluster || kernels::decode::kTunings[index].once)
    ++index;
  return index;
}

inline constexpr int kDecodeInPairs = decode_tuning(64, 2);
inline constexpr int kDecodeAlone = decode_tuning(64, 1);

}  // namespace flashmoe::test
