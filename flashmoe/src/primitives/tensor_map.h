// SPDX-License-Identifier: MIT
// What TMA must know about a tensor: address, sizes, strides, and the size of the tile that one copy moves.
// Made on the host and passed to a kernel as part of a __grid_constant__ parameter.
#pragma once

#include <array>
#include <cstdint>

#include "primitives/matrix_descriptor.h"
#include "primitives/platform.h"

namespace flashmoe::gpu {

inline constexpr int kMaxMapRank = 5;

// A tensor of 16-bit elements; dimension 0 is the innermost and contiguous.
struct TensorMapShape {
  const void* data = nullptr;  // 16-byte aligned
  int rank = 0;
  std::array<int64_t, kMaxMapRank> sizes{};         // elements
  std::array<int64_t, kMaxMapRank> stride_bytes{};  // multiples of 16, below 2^40; [0] is ignored
  std::array<int, kMaxMapRank>
      box_dim{};  // tile size in elements, at most 256 each; [0] at most the swizzle's width
  Swizzle swizzle = Swizzle::bytes_128;

  bool operator==(const TensorMapShape&) const = default;
};

}  // namespace flashmoe::gpu

// make_tensor_map(shape) -> TensorMap; throws Error if the driver refuses the shape. Takes about a
// microsecond of host time.
#ifdef FLASHMOE_MODEL
#include "primitives/model/tensor_map.h"
#else
namespace flashmoe::gpu::inline FLASHMOE_TARGET {

struct alignas(64) TensorMap {
  uint64_t opaque[16];
};

TensorMap make_tensor_map(const TensorMapShape& shape);

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#endif
