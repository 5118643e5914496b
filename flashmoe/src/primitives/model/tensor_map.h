// SPDX-License-Identifier: MIT
// Included by primitives/tensor_map.h, which defines TensorMapShape.
#pragma once

#include "primitives/platform.h"
#include "primitives/tensor_map.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

struct alignas(64) TensorMap {
  TensorMapShape shape;
};

// Throws Error for the shapes that the CUDA driver refuses.
TensorMap make_tensor_map(const TensorMapShape& shape);

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
