// SPDX-License-Identifier: MIT
// Included by primitives/tensor_map.h, which has the shape.
#pragma once

#include "primitives/platform.h"
#include "primitives/tensor_map.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

struct alignas(64) TensorMap {
  TensorMapShape shape;
};

// Refuses what the driver refuses.
TensorMap make_tensor_map(const TensorMapShape& shape);

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
