// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

inline int thread_index() { return model::current->index; }
inline int lane_index() { return model::current->lane; }
inline int warp_index() { return model::current->warp->index; }
inline unsigned block_index() { return model::current->block->x; }
inline unsigned block_index_y() { return model::current->block->y; }
inline unsigned block_index_z() { return model::current->block->z; }

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
