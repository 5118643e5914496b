// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/model/machine.h"
#include "primitives/platform.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

inline constexpr int kMaxCluster = 8;
inline void refuse_architecture() {}

inline uint32_t cluster_rank() { return model::current->block->rank; }
void cluster_arrive_relaxed(const model::Where& where = model::Where::current());
void cluster_wait(const model::Where& where = model::Where::current());
uint32_t mapa(uint32_t address, uint32_t rank, const model::Where& where = model::Where::current());

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
