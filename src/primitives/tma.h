// SPDX-License-Identifier: MIT
// Boxes of a tensor between global and shared memory, moved by the copy engine of the SM. Maps: tensor_map.h.
#pragma once

#include "primitives/tensor_map.h"

#ifdef FLASHMOE_MODEL
#include "primitives/model/tma.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

// The model has no caches.
inline void tma_prefetch_4d(const TensorMap&, int, int, int, int) {}
inline void tma_prefetch_5d(const TensorMap&, int, int, int, int, int) {}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#else
#include "primitives/ptx/tma.h"
#endif
