// SPDX-License-Identifier: MIT
// Tensor maps of a call, kept for the next one.
#pragma once

#include "kernels/forward_params.h"
#include "primitives/tensor_map.h"

namespace flashmoe::kernels::inline FLASHMOE_TARGET {

// Maps that this thread made before are taken from a small cache: a map says nothing but what its shape says,
// so they never go stale.
const gpu::TensorMap& cached_tensor_map(const gpu::TensorMapShape& shape);

// Of 16-bit elements. Of a dimension of one element the stride does not matter, and may be one that TMA would
// refuse.
inline int64_t map_stride_bytes(int64_t size, int64_t stride) { return size == 1 ? 16 : stride * 2; }

}  // namespace flashmoe::kernels::inline FLASHMOE_TARGET
