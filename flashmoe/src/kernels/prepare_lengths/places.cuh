// SPDX-License-Identifier: MIT
// Where a sequence lies, and which one has a row. Starts and lengths are the caller's, and nobody has looked
// at them: what is found lies inside of the tensors.
#pragma once

#include "kernels/prepare_lengths/params.h"
#include "primitives/memory.h"
#include "primitives/min_max.h"

namespace flashmoe::kernels::prepare_lengths::inline FLASHMOE_TARGET {

__device__ __forceinline__ int between(int x, int low, int high) {
  return gpu::max_of(low, gpu::min_of(x, high));
}

// Where a sequence lies on one side, and its rows that count.
struct Place {
  int place, rows;
};

__device__ __forceinline__ Place place_of(const Side& side, int sequence) {
  int first = 0, rows = side.rows;
  if (side.starts != nullptr) {
    first = between(gpu::load_global(side.starts + sequence), 0, side.rows);
    rows = between(gpu::load_global(side.starts + sequence + 1), first, side.rows) - first;
  }
  if (side.used != nullptr) rows = between(gpu::load_global(side.used + sequence), 0, rows);
  return {side.starts != nullptr ? first : sequence, rows};
}

// The sequence of a row of a packed tensor; `sequences` or -1 for none.
__device__ __forceinline__ int sequence_at(const Side& side, int sequences, int row) {
  int low = 0, high = sequences + 1;  // starts that are not behind the row
  while (low < high) {
    const int middle = (low + high) / 2;
    if (gpu::load_global(side.starts + middle) <= row) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}

}  // namespace flashmoe::kernels::prepare_lengths::inline FLASHMOE_TARGET
