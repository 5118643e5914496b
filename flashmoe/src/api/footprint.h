// SPDX-License-Identifier: MIT
// The bytes that a view touches, and whether two views touch the same ones. Exact, and nothing is allocated:
// views that interleave in one buffer without meeting (q and out side by side in each row, say) are told
// apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "flashmoe/attention.h"

namespace flashmoe {

// Rows of `row_bytes` contiguous bytes, at `low` plus any combination of steps. Sorted from the smallest
// stride up, none negative; dimensions of size 1 are left out, and those that continue the row without a gap
// are part of it.
struct Footprint {
  struct Step {
    uint64_t stride;
    uint64_t count;
  };
  std::uintptr_t low = 0;
  uint64_t row_bytes = 0;
  std::array<Step, 3> steps{};
  int num_steps = 0;

  static Footprint of(const Tensor& tensor);
  static Footprint of(const void* data, std::size_t bytes) {
    return {.low = reinterpret_cast<std::uintptr_t>(data), .row_bytes = bytes};
  }

  std::uintptr_t end() const;

  // True when each step leads past everything the smaller ones reach, so that no byte is touched twice. Every
  // view made by transposing, slicing or reversing a dense tensor is so.
  bool nests() const;
};

// True when some byte belongs to both. `a` must nest. Time grows with the rows of b, and only if the two
// interleave.
bool overlap(const Footprint& a, const Footprint& b);

}  // namespace flashmoe
